"""The system around the network of the relational reader, on what the toy has learned: facts and rules."""

from collections.abc import Mapping
from itertools import pairwise
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
from models.relational.memory import PROGRAM, RuleMemory
from models.relational.system import RelationalSystem
from models.relational.system import load as load_bundle
from models.system import Ask, Reply, Side
from tests.models.relational.test_memory import NO_SPOUSE, SHORTCUT, material
from tests.models.training.relational.test_learning import toy_model

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


def say(
    question: str,
    *rules: Material,
    statements: Mapping[str, tuple[Statement, ...]] = STATEMENTS,
    explain: bool = False,
) -> Reply:
    memory, graph = RuleMemory(), GraphMemory(Base("sha256:" + "0" * 64, statements, {}))
    base = view(graph)
    program = memory.view(memory.fold(rules))
    [reply] = RelationalSystem(toy_model()).answer(
        [ask_of(base, question, explain=explain)], [{GRAPH: base, PROGRAM: program}]
    )
    return reply


def test_a_recursive_rule_answers_with_the_facts_of_its_path_and_is_taken_back() -> None:
    chain = {
        **{
            id: (Statement(LABEL, id.title()), Statement("spouse", next_id.title(), next_id))
            for id, next_id in pairwise(("ada", "kim", "lea"))
        },
        "lea": (Statement(LABEL, "Lea"), Statement("employer", "Acme", "acme")),
        "acme": STATEMENTS["acme"],
    }
    rule = material("r1", 'infer(I,"employer",J) <= edge(A,I,K), relation(A,"spouse"), infer(K,"employer",J)')
    question = "Who employs Ada?"
    before, after = (say(question, *rules, statements=chain, explain=True) for rules in ((), (rule,)))
    assert (before.answer, after.answer, after.edits) == (None, "Acme", ("r1",))
    assert after.explanation is not None
    [fact] = after.explanation["path"][0]["facts"]
    facts = [(part["entity"], part["relation"], part["object"]) for part in fact["rests_on"]]
    assert set(facts) == {
        *(("ada", "spouse", "Kim"), ("kim", "spouse", "Lea")),
        ("lea", "employer", "Acme"),
    }
    memory = RuleMemory()
    assert memory.fold([]).checksum == memory.base.checksum != memory.fold([rule]).checksum
    assert say(question, statements=chain, explain=True) == before


def test_a_forbidden_relation_takes_the_answer_away_and_the_reply_names_the_edit() -> None:
    before, after = say(QUESTION), say(QUESTION, material("r1", NO_SPOUSE))
    assert before.answer == "Acme"
    assert before.edits == ()
    assert after.answer is None
    assert after.edits == ("r1",)


def test_an_inferred_edge_answers_and_the_reply_names_the_edit() -> None:
    question = "Who employs Ada?"
    assert say(question).answer is None
    reply = say(question, material("r1", SHORTCUT))
    assert reply.answer == "Acme"
    assert reply.edits == ("r1",)
    assert reply.facts[0]["edit"] == "r1"


def test_a_rule_within_reach_may_change_an_answer_and_one_elsewhere_does_not() -> None:
    memory, graph = RuleMemory(), GraphMemory(Base("sha256:" + "0" * 64, STATEMENTS, {}))
    base = view(graph)
    system = RelationalSystem(toy_model())
    sides = [
        Side([ask_of(base)], {GRAPH: base, PROGRAM: memory.view(memory.fold(rules))})
        for rules in (
            [],
            [material("r1", NO_SPOUSE)],
            [material("r2", 'forbid(E) <= hidden.relation(E,"x")')],
        )
    ]
    assert system.may_differ(sides[0], sides[1]) == [True]
    assert system.may_differ(sides[0], sides[2]) == [False]


def test_a_relation_that_was_inferred_answers_under_the_label_of_the_curator() -> None:
    rule = SHORTCUT.replace('"employer",J)', '"pays",J)')
    assert say("Who employs Ada?", material("r1", rule, "employer")).answer == "Acme"
