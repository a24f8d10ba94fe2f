"""The system keeps the contract, follows the graph's versions two facts away, and tells when an answer may change."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from models.graph.base import Base
from models.graph.knowledge import Mention
from models.graph.memory import GRAPH, GraphMemory, TripleChange
from models.graph.statement import LABEL, Statement
from models.graph.view import GraphView
from models.memory import Material, Options
from models.relational.checkpoint import load, save
from models.relational.system import RelationalSystem
from models.relational.system import load as load_bundle
from models.system import Ask, Side
from tests.models.training.relational.toy import toy_model

STATEMENTS = {
    "ada": (Statement(LABEL, "Ada"), Statement("spouse", "Kim", "kim")),
    "kim": (Statement(LABEL, "Kim"), Statement("employer", "Acme", "acme")),
    "acme": (Statement(LABEL, "Acme"), Statement("founded", "1901")),
    "bolt": (Statement(LABEL, "Bolt"),),
}
QUESTION = "Who employs the spouse of Ada?"
NEW_EMPLOYER = TripleChange("e1", {"kim": (Statement("employer", "Bolt", "bolt", act="set"),)})
NEW_YEAR = TripleChange("e2", {"acme": (Statement("founded", "1902", act="set"),)})


@pytest.fixture(scope="module")
def system() -> RelationalSystem:
    return RelationalSystem(toy_model())


@pytest.fixture
def memory() -> GraphMemory:
    return GraphMemory(Base("sha256:" + "0" * 64, STATEMENTS, {}))


def view(memory: GraphMemory, *changes: TripleChange) -> GraphView:
    materials = [material for material in memory.build(changes, Options()) if isinstance(material, Material)]
    return memory.view(memory.fold(materials))


def ask_of(view: GraphView, question: str = QUESTION, **options: bool) -> Ask:
    entity = view.entity("ada")
    assert entity is not None
    at = question.index("Ada")
    return Ask(question, mentions=(Mention(at, at + 3, (entity,)),), **options)


def answers(system: RelationalSystem, views: Sequence[GraphView], question: str = QUESTION) -> list[str]:
    replies = system.answer([ask_of(v, question) for v in views], [{GRAPH: v} for v in views])
    return [reply.best for reply in replies]


def test_an_edit_of_the_second_fact_changes_the_answer_at_its_version(
    system: RelationalSystem, memory: GraphMemory
) -> None:
    base, later = view(memory), view(memory, NEW_EMPLOYER)
    assert answers(system, [base, later, base]) == ["Acme", "Bolt", "Acme"]
    [reply] = system.answer([ask_of(later)], [{GRAPH: later}])
    assert reply.edits == ("e1",)


def test_a_change_within_reach_may_differ_and_one_elsewhere_does_not(
    system: RelationalSystem, memory: GraphMemory
) -> None:
    base, later = view(memory), view(memory, NEW_EMPLOYER)
    bolt = view(memory, TripleChange("e3", {"bolt": (Statement("founded", "1950"),)}))
    ask = ask_of(base)
    before = Side([ask], {GRAPH: base})
    assert system.may_differ(before, Side([ask_of(later)], {GRAPH: later})) == [True]
    assert system.may_differ(before, Side([ask_of(bolt)], {GRAPH: bolt})) == [False]
    assert system.may_differ(
        before, Side([ask_of(view(memory, NEW_YEAR))], {GRAPH: view(memory, NEW_YEAR)})
    ) == [True]


def test_an_explanation_comes_only_when_it_is_asked_for(
    system: RelationalSystem, memory: GraphMemory
) -> None:
    base = view(memory)
    plain, full = system.answer([ask_of(base), ask_of(base, explain=True)], [{GRAPH: base}] * 2)
    assert plain.explanation is None
    assert full.explanation is not None
    assert [hop["label"] for hop in full.explanation["path"]] == ["spouse", "employer"]


def test_a_checkpoint_answers_as_what_was_saved(
    system: RelationalSystem, memory: GraphMemory, tmp_path: Path
) -> None:
    save(system.model.network, system.model.confidence, tmp_path)
    again = RelationalSystem(load(tmp_path))
    base = view(memory)
    [reply], [expected] = (s.answer([ask_of(base)], [{GRAPH: base}]) for s in (again, system))
    assert (reply.answer, reply.facts) == (expected.answer, expected.facts)
    assert reply.score == pytest.approx(expected.score, abs=1e-5)  # labels are read in other batches
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 10_000_000
    assert load_bundle(torch.device("cpu"), torch.float32, tmp_path).system.name == "relational"
