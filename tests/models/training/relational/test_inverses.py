"""Relations that are walked from object to subject: their words, their graphs, and a reader that learns them."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from models.graph.knowledge import Entity, Fact, Mention
from models.relational.answer import Answerer, Sources
from models.relational.constraints import Constraints
from models.relational.explain import explain
from models.relational.neighbours import EntityNeighbours
from models.relational.subgraph import build_subgraph, inverse_label
from models.system import Ask, Reply
from models.training.phrasings import Phrasings
from models.training.relational.compositions import Compositions, base_id, is_inverse
from models.training.relational.examples import Example
from models.training.relational.inverses import (
    InverseFrames,
    inverse_phrasings,
    invert,
    with_inverses,
)
from tests.models.training.relational.toy import (
    BOTH_WAYS_PLAN,
    LABELS,
    RELATIONS,
    both_ways_maker,
    both_ways_model,
)

FRAMES = InverseFrames(("the {type} whose {label} is {subject}",), (), ())


def turn(*nouns: str) -> Phrasings:
    phrasings = {"capital": Phrasings((), nouns)}
    return inverse_phrasings([RELATIONS["capital"]], phrasings, FRAMES)["~capital"]


def examples(is_broken: bool, number: int = 80) -> list[Example]:
    rng, maker = random.Random("inverses"), both_ways_maker()
    paths = [maker.compositions.draw(rng.choice((1, 2, 3)), False, rng) for _ in range(number)]
    assert any(is_inverse(relation.id) for path in paths for relation in path)
    return [maker.make(path, rng, is_broken) for path in paths]


def walk(example: Example) -> list[str]:
    """Return the labels at the end of an example's path, walked over the plain facts."""
    ids, ends = [example.ask.mentions[example.start].entities[0].id], list[str]()
    for id in example.path:
        triples = [
            (entity, fact)
            for entity in example.entities.values()
            for fact in entity.facts
            if fact.relation == base_id(id)
        ]
        if is_inverse(id):
            subjects = {entity.id: entity.label for entity, fact in triples if fact.object_id in ids}
            ids, ends = list(subjects), list(subjects.values())
        else:
            facts = [fact for entity, fact in triples if entity.id in ids]
            ids, ends = [fact.object_id for fact in facts], [fact.object for fact in facts]
    return ends


def test_the_inverse_of_a_relation_has_its_types_exchanged() -> None:
    inverse = invert(RELATIONS["capital"])
    assert (inverse.id, inverse.subject, inverse.object) == ("~capital", "place", "country")
    assert inverse.labels == (inverse_label("capital"),)


def test_only_what_has_entities_for_objects_is_walked_back() -> None:
    assert with_inverses(RELATIONS).keys() - RELATIONS.keys() == {
        "~capital",
        "~mayor",
        "~spouse",
        "~employer",
    }


def test_the_noun_phrase_of_a_writer_is_turned_to_the_subject() -> None:
    assert turn("{subject}'s seat of government").nouns[1:] == (
        "the country whose seat of government is {subject}",
    )
    assert turn("the capital of {subject}").nouns[1:] == ("the country that {subject} is the capital of",)
    assert turn("the capital of {subject}").questions == (
        "{subject} is the capital of which country?",
        "the capital of which country is {subject}?",
    )


def test_a_noun_phrase_with_its_subject_inside_is_left_to_the_frames() -> None:
    assert turn("the city that {subject} is governed from") == Phrasings(
        (), ("the country whose capital is {subject}",)
    )


def test_no_path_leads_back_to_where_it_came_from() -> None:
    compositions, rng = Compositions(with_inverses(RELATIONS), 10**9, 1, 0.5), random.Random(2)
    pairs = [p for _ in range(100) for p in pairwise(r.id for r in compositions.draw(3, False, rng))]
    assert any(is_inverse(first) != is_inverse(second) for first, second in pairs)
    assert not [
        pair for pair in pairs if base_id(pair[0]) == base_id(pair[1]) and len({*map(is_inverse, pair)}) == 2
    ]


def test_the_share_of_inverse_hops_is_what_was_wanted() -> None:
    def share(inverse: float) -> float:
        compositions, rng = Compositions(with_inverses(RELATIONS), 10**9, 1, inverse), random.Random(3)
        ids = [compositions.draw(1, False, rng)[0].id for _ in range(400)]
        return sum(map(is_inverse, ids)) / len(ids)

    assert share(0.0) == 0
    assert share(0.25) == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize("is_broken", [False, True])
def test_the_expected_answer_is_what_the_path_leads_to(is_broken: bool) -> None:
    for example in examples(is_broken):
        ends = walk(example)
        if is_broken:
            assert not ends
            assert example.expected is None
        elif example.form == "entities":
            assert example.expected == ", ".join(sorted(ends))
        elif example.form == "count":
            assert example.expected == str(len(ends))


def test_a_walk_finds_the_labels_that_the_sub_graph_of_the_question_has() -> None:
    """The reader meets the same labels at each hop in training and in answers."""
    for example in examples(False, 30):
        graph = EntityNeighbours.of_entities(example.entities)
        start = example.ask.mentions[example.start].entities[0]
        around = build_subgraph(graph, [start], BOTH_WAYS_PLAN.config)
        places = {around.starts[start.id]}
        for label, hop in zip(example.labels, example.hops, strict=False):
            labels = sorted(sorted(around.leaving.get(place, ())) for place in places)
            assert labels == sorted(sorted(visit.labels) for visit in hop)
            edges = [edge for edge in around.edges if edge.source in places and edge.label == label]
            places = {edge.target for edge in edges}


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


def ask(answerer: Answerer, question: str, name: str, rules: str = "") -> Reply:
    at = question.index(name)
    question_of_name = Ask(question, mentions=(Mention(at, at + len(name), (GRAPH[name],)),))
    graph = EntityNeighbours.of_entities(GRAPH)
    [reading] = answerer.read(
        [question_of_name], [Sources(graph, Constraints(rules) if rules else Constraints())]
    )
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
    rule = 'attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,R), neq(R,"capital")'
    reply = ask(answerer, "What is the country whose capital is Vik?", "Vik", rule)
    assert reply.best != "Norland"
    assert {fact["subject"] for fact in reply.explanation["forbidden"]} >= {"Norland"}
