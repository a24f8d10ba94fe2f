"""The training works: a toy world of five relations is learned to the last question.

Relations that are walked from object to subject: their words, their graphs, and a reader that learns them.
"""

import random
from dataclasses import replace

import pytest

from models.graph.knowledge import Entity, Fact, Mention
from models.relational.answer import NO_PATH, Answerer, Sources
from models.relational.explain import explain
from models.relational.rule import EditedRule, RuleProgram, WalkRule
from models.relational.subgraph import EntityNeighbours, inverse_label
from models.relational.system import RelationalSystem
from models.system import Ask, Reply
from models.training.relational.compositions import is_inverse
from models.training.relational.exam import measure_group
from models.training.relational.examples import Example
from models.training.relational.learning import loss_of
from tests.models.training.relational.toy import (
    LABELS,
    MAKER,
    both_ways_maker,
    both_ways_model,
    reader,
    toy_model,
)


@pytest.mark.parametrize("n_hops", [1, 2, 3])
def test_a_toy_world_is_learned_to_the_last_question(n_hops: int) -> None:
    rng = random.Random(f"other questions/{n_hops}")
    paths = [MAKER.compositions.draw(n_hops, False, rng) for _ in range(30)]
    system = RelationalSystem(toy_model())
    result = measure_group(system, [MAKER.make(path, rng, False) for path in paths])
    assert (result["best"], result["faithful"]) == (100.0, 100.0)


def test_a_missing_fact_is_noticed_at_any_hop() -> None:
    rng = random.Random("broken")
    paths = [MAKER.compositions.draw(n_hops, False, rng) for n_hops in (1, 2, 3) for _ in range(10)]
    examples = [MAKER.make(path, rng, True) for path in paths]
    asks = [replace(example.ask, neighbours=tuple(example.entities.values())) for example in examples]
    replies = RelationalSystem(toy_model()).answer(asks, [{}] * len(asks))
    assert [reply.answer for reply in replies] == [None] * 30
    assert {reply.reason for reply in replies} == {NO_PATH}


def test_the_loss_of_a_question_does_not_depend_on_the_others_of_its_batch() -> None:
    rng = random.Random("batch")
    examples = [MAKER.draw(rng) for _ in range(6)]
    network = toy_model().network
    together = float(loss_of(network, reader(), examples))
    alone = [float(loss_of(network, reader(), [example])) for example in examples]
    assert together == pytest.approx(sum(alone) / len(alone), abs=1e-4)  # float32, other order of sums


def examples(is_broken: bool, number: int = 80) -> list[Example]:
    rng, maker = random.Random("inverses"), both_ways_maker()
    paths = [maker.compositions.draw(rng.choice((1, 2, 3)), False, rng) for _ in range(number)]
    assert any(is_inverse(relation.id) for path in paths for relation in path)
    return [maker.make(path, rng, is_broken) for path in paths]


def entity(id: str, *facts: tuple[str, str]) -> Entity:
    return Entity(id, id, facts=tuple(Fact(r, LABELS.get(r, r), target, target) for r, target in facts))


GRAPH = {
    e.id: e
    for e in (
        entity("Norland", ("capital", "Vik")),
        entity("Sudland", ("capital", "Oz")),
        entity("Vik", ("mayor", "Ada")),
        entity("Oz", ("mayor", "Bo")),
        entity("Ada", ("spouse", "Kim"), ("employer", "Acme")),
        entity("Bo"),
        entity("Kim"),
        entity("Acme"),
    )
}


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(both_ways_model())


def ask(answerer: Answerer, question: str, name: str, rule: str = "") -> Reply:
    at = question.index(name)
    question_of_name = Ask(question, mentions=(Mention(at, at + len(name), (GRAPH[name],)),))
    graph = EntityNeighbours.of_entities(GRAPH)
    program = RuleProgram((EditedRule(WalkRule(rule), "e1"),) if rule else ())
    [reading] = answerer.read([question_of_name], [Sources(graph, program)])
    reply = answerer.reply(reading)
    return replace(reply, explanation=explain(reading))  # type: ignore[arg-type]  # its name is in the graph


def test_a_reader_finds_the_subject_of_an_object(answerer: Answerer) -> None:
    reply = ask(answerer, "What is the country whose capital is Vik?", "Vik")
    assert reply.best == "Norland"
    [fact] = reply.facts
    assert (fact["subject"], fact["label"], fact["object"]) == ("Norland", "capital", "Vik")
    assert reply.explanation["path"][0]["label"] == inverse_label("capital")


def test_a_path_leads_back_and_on_in_one_question(answerer: Answerer) -> None:
    reply = ask(answerer, "Who employs the person whose spouse is Kim?", "Kim")
    assert reply.best == "Acme"
    assert [(fact["subject"], fact["object"]) for fact in reply.facts] == [("Ada", "Kim"), ("Ada", "Acme")]


def test_a_rule_about_a_relation_holds_in_both_directions(answerer: Answerer) -> None:
    rule = 'forbid(E) <= hidden.relation(E,"capital")'
    reply = ask(answerer, "What is the country whose capital is Vik?", "Vik", rule)
    assert reply.best != "Norland"
    assert {fact["subject"] for fact in reply.explanation["forbidden"]} >= {"Norland"}
