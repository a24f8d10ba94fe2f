"""The system keeps the contract, answers a batch of both kinds, and tells when an answer may change."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.contract import check_contract, check_reply
from models.graph.base import Base
from models.graph.memory import GRAPH, GraphMemory
from models.memory import FieldsChange, Material, Options
from models.system import Ask, Bundle, Side
from models.thu_ernie.checkpoint import TABLE, save
from models.thu_ernie.entities.memory import ENTITIES, EntityMemory, RowsFields
from models.thu_ernie.entities.table import EntityView
from models.thu_ernie.reader import Model
from models.thu_ernie.system import ThuErnieSystem, load
from tests.models.reading.tiny import tiny_reader
from tests.models.thu_ernie.answering.conftest import ask_about as ask_about
from tests.models.thu_ernie.answering.conftest import model as model
from tests.models.thu_ernie.answering.conftest import network as network
from tests.models.thu_ernie.answering.conftest import table as table
from tests.models.thu_ernie.answering.conftest import table_folder as table_folder
from tests.models.thu_ernie.answering.tiny import ADA, ANSWERS, KIM, SIZE


@pytest.fixture
def system(model: Model) -> ThuErnieSystem:
    return ThuErnieSystem(model, tiny_reader())


@pytest.fixture
def memory(model: Model) -> EntityMemory:
    return EntityMemory(model.table)


def edit(memory: EntityMemory, entity: str, value: float) -> EntityView:
    fields = RowsFields(entity=entity, vector=(value,) * SIZE)
    [material] = memory.build([FieldsChange("e1", "rows", fields)], Options())
    assert isinstance(material, Material)
    return memory.view(memory.fold([material]))


def test_it_keeps_the_contract(system: ThuErnieSystem, memory: EntityMemory) -> None:
    graph = GraphMemory(Base("sha256:" + "0" * 64, {}, {}))
    bundle = check_contract(Bundle(system, (graph, memory)), "thu-ernie")
    check_reply(bundle)
    assert system.describe()["entity_size"] == SIZE


def test_a_batch_may_hold_questions_with_and_without_a_context(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    views = {ENTITIES: memory.view(memory.base)}
    asks = [
        ask_about("Where was Kim born?", KIM, context="Kim was born in Lima.", explain=True),
        ask_about("Where was Kim born?", KIM, explain=True),
        Ask("Where?"),
    ]
    span, entity, bare = system.answer(asks, [views] * 3)
    assert span.best in "Kim was born in Lima."
    assert span.explanation is not None
    assert span.explanation["kind"] == "span"
    assert entity.explanation is not None
    assert entity.explanation["kind"] == "neighbours"
    assert bare.explanation is None


def test_a_long_context_is_read_in_turns(system: ThuErnieSystem, memory: EntityMemory) -> None:
    views = {ENTITIES: memory.view(memory.base)}
    ask = Ask("Where was Kim born?", context="Kim was born in Lima. " * 200, explain=True)
    *steps, reply = system.answer_in_steps(ask, views)
    assert steps == [None] * len(steps)
    assert len(steps) > 4
    assert [reply] == system.answer([ask], [views])


def test_only_rows_that_a_question_rests_on_may_change_its_answer(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    base, later = memory.view(memory.base), edit(memory, "kim", 1.0)
    asks = [ask_about("Where was Kim born?", KIM), ask_about("Where was Ada born?", ADA), Ask("Where?")]
    before, after = Side(asks, {ENTITIES: base}), Side(asks, {ENTITIES: later})
    assert system.may_differ(before, after) == [True, False, True]
    assert system.may_differ(before, before) == [False] * 3
    without_facts = Side([ask_about("Where was Kim born?", replace(KIM, facts=()))], {ENTITIES: base})
    assert system.may_differ(Side(asks[:1], {ENTITIES: base}), without_facts) == [True]


def test_the_row_of_a_known_answer_that_a_request_names_may_change_its_answer(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    ask = ask_about("Where was Kim born?", KIM, candidates=("Rome", "elsewhere"))
    views = [{ENTITIES: view} for view in (memory.view(memory.base), edit(memory, "rome", 3.0))]
    before, after = (system.answer([ask], [view])[0] for view in views)
    assert before.score != after.score
    assert system.may_differ(Side([ask], views[0]), Side([ask], views[1])) == [True]


def test_taking_a_row_back_gives_the_same_reply_to_the_bit(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    ask = ask_about("Where was Kim born?", KIM, explain=True)
    before = system.answer([ask], [{ENTITIES: memory.view(memory.base)}])
    changed = system.answer([ask], [{ENTITIES: edit(memory, "kim", 3.0)}])
    after = system.answer([ask], [{ENTITIES: memory.view(memory.base)}])
    assert before == after
    assert changed != before


def test_a_bundle_is_loaded_from_a_folder(model: Model, table_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(table_folder, tmp_path / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, tmp_path)
    bundle = load(torch.device("cpu"), torch.float32, tmp_path)
    assert bundle.system.name == "thu-ernie"
    assert [memory.name for memory in bundle.memories] == [GRAPH, ENTITIES]
