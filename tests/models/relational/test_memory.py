"""Rules are edited like any memory: each its block, the fold a pure function, undo exact."""

import pytest
from pydantic import ValidationError

from models.graph.base import Base
from models.graph.memory import GRAPH, GraphMemory
from models.memory import EditRefused, FieldsChange, Material, Memory, Options, TakesFields
from models.relational.memory import PROGRAM, RuleFields, RuleMemory
from models.relational.system import RelationalSystem
from models.system import Reply, Side
from service.editing.notes import KINDS
from tests.models.relational.test_system import QUESTION, STATEMENTS, ask_of, view
from tests.models.training.relational.toy import toy_model

NO_SPOUSE = 'forbid(E) <= hidden.relation(E,"spouse")'
SHORTCUT = (
    'infer(I,"employer",J) <= hidden.edge(A,I,K), hidden.relation(A,"spouse"), '
    'hidden.edge(B,K,J), hidden.relation(B,"employer")'
)


def material(id: str, rule: str, label: str = "") -> Material:
    [result] = RuleMemory().build([FieldsChange(id, "rule", RuleFields(rule=rule, label=label))], Options())
    assert isinstance(result, Material)
    return result


def say(question: str, *rules: Material) -> Reply:
    memory, graph = RuleMemory(), GraphMemory(Base("sha256:" + "0" * 64, STATEMENTS, {}))
    base = view(graph)
    program = memory.view(memory.fold(rules))
    [reply] = RelationalSystem(toy_model()).answer(
        [ask_of(base, question)], [{GRAPH: base, PROGRAM: program}]
    )
    return reply


def test_it_keeps_the_contract_of_a_memory() -> None:
    memory = RuleMemory()
    assert isinstance(memory, Memory)
    assert isinstance(memory, TakesFields)
    assert memory.view(memory.base).rules == ()


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


def test_taking_a_rule_back_leaves_the_bits_that_would_be_there_without_it() -> None:
    memory = RuleMemory()
    first, second = material("r1", NO_SPOUSE), material("r2", SHORTCUT)
    assert memory.fold([first]).checksum == memory.fold([material("r1", NO_SPOUSE)]).checksum
    assert memory.fold([]).checksum == memory.base.checksum
    assert memory.view(memory.fold([second])) == memory.view(memory.fold([material("r2", SHORTCUT)]))
    assert say(QUESTION) == say(QUESTION, *[])
    assert memory.fold([first, second]).checksum != memory.fold([first]).checksum


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


def test_a_rule_that_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(ValidationError, match="line 1, column"):
        RuleFields(rule="forbid(E) <= hidden.colour(E)")


def test_only_an_inference_has_a_label() -> None:
    [result] = RuleMemory().build(
        [FieldsChange("r1", "rule", RuleFields(rule=NO_SPOUSE, label="wife"))], Options()
    )
    assert isinstance(result, EditRefused)
    assert result.code == "no_label"


def test_an_inferred_relation_is_called_as_the_curator_says() -> None:
    rule = SHORTCUT.replace('"employer",J)', '"pays",J)')
    memory = RuleMemory()
    program = memory.view(memory.fold([material("r1", rule, "employer")]))
    assert program.rules[0].label == "employer"
    assert say("Who employs Ada?", material("r1", rule, "employer")).answer == "Acme"


def test_a_rule_in_a_log_is_one_line() -> None:
    assert RuleFields(rule=SHORTCUT.replace(", ", ",   ")).summarize() == SHORTCUT


def test_what_a_rule_does_is_noted_under_a_name_that_no_other_kind_of_edit_has() -> None:
    notes = material("r1", NO_SPOUSE).notes
    assert notes == {"effect": "forbid"}
    assert not set(notes) & set(KINDS)
