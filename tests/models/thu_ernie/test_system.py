"""The system keeps the contract, answers a batch of both kinds, and tells when an answer may change."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.graph.memory import GRAPH
from models.memory import FieldsChange, Material, Options
from models.system import Ask, Side
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


def test_a_bundle_is_loaded_from_a_folder(model: Model, table_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(table_folder, tmp_path / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, tmp_path)
    bundle = load(torch.device("cpu"), torch.float32, tmp_path)
    assert bundle.system.name == "thu-ernie"
    assert [memory.name for memory in bundle.memories] == [GRAPH, ENTITIES]
