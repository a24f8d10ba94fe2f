"""Relations that are walked from object to subject: their words, their graphs, and a reader that learns them."""

import random
from dataclasses import replace

import pytest

from models.graph.knowledge import Entity, Fact, Mention
from models.relational.answer import Answerer, Sources
from models.relational.explain import explain
from models.relational.rule import EditedRule, RuleProgram, WalkRule
from models.relational.subgraph import EntityNeighbours, inverse_label
from models.system import Ask, Reply
from models.training.relational.compositions import is_inverse
from models.training.relational.examples import Example
from tests.models.training.relational.toy import (
    LABELS,
    both_ways_maker,
    both_ways_model,
)


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
