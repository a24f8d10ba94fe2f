"""Entity answers: candidates compete over all subjects, rows decide, and unanswerable questions are declined.

Candidates are the neighbours by relation, or the texts of a request by their rows.
The mask stands where the head looks for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from models.confidence import Confidence
from models.encoder.weights import find
from models.graph.knowledge import Entity, Fact, Mention
from models.kit.text import MASK, WordPieces
from models.system import UNSURE, Ask, Reply
from models.thu_ernie.align import Link, place_links
from models.thu_ernie.answer import NO_CANDIDATES, NO_ENTITY, NO_FACT, Aligner, Reading
from models.thu_ernie.candidates import FEATURE_LIMIT, Alignment, align, list_neighbours, list_texts
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityTable, EntityView
from models.thu_ernie.explain import explain
from models.thu_ernie.finder import FoundRow, RowFinder
from models.thu_ernie.links import TOO_MANY
from models.thu_ernie.reader import Model
from models.thu_ernie.row import CUT, cut, lay_mask
from tests.models.thu_ernie.answering.conftest import ADA, ANSWERS, KIM, SIZE

Build = Callable[..., Ask]


@pytest.fixture
def views(table: EntityTable) -> Mapping[str, Any]:
    return {ENTITIES: EntityView(table)}


def read(model: Model, ask: Ask, views: Mapping[str, Any]) -> Reading:
    [reading] = Aligner(model).read([ask], [views])
    return reading


def reply(model: Model, ask: Ask, views: Mapping[str, Any]) -> Reply:
    return Aligner(model).reply(read(model, ask, views))


def answers(reading: Reading) -> list[str]:
    return [entry.candidate.answer for entry in reading.alignment.entries]


def test_the_neighbours_of_what_is_named_are_the_candidates(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    reading = read(model, ask_about("Where was Kim born?", KIM), views)
    assert sorted(answers(reading)) == ["1.80 m", "Ada", "Oslo"]
    best = Aligner(model).reply(reading)
    assert best.best == answers(reading)[0]
    assert 0 <= best.score <= 1
    assert best.facts[0]["subject"] == "Kim"


def test_each_entity_that_may_be_meant_has_a_mask(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    reading = read(model, ask_about("Did Kim meet Ada?", KIM, ADA), views)
    assert len(reading.masks) == 2
    assert {entry.subject for entry in reading.alignment.entries} == {0, 1}
    assert "Rome" in answers(reading)


def test_a_question_is_read_alike_alone_and_in_a_batch(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    asks = [
        ask_about("Where was Kim born?", KIM),
        ask_about("In which town did they say was Ada born then?", ADA),
    ]
    together = Aligner(model).read(asks, [views, views])
    for ask, reading in zip(asks, together, strict=True):
        alone = read(model, ask, views)
        assert [e.logit for e in alone.alignment.entries] == pytest.approx(
            [e.logit for e in reading.alignment.entries], abs=1e-4
        )


def test_the_row_of_the_subject_decides(
    model: Model, ask_about: Build, views: Mapping[str, Any], table: EntityTable
) -> None:
    ask, number = ask_about("Where was Kim born?", KIM), table.row_of("kim")
    before = read(model, ask, views)
    other = EntityView(table, {number: 5 * torch.ones(SIZE)}, {}, {number: "edit 1"})
    after = read(model, ask, {ENTITIES: other})
    assert [e.logit for e in before.alignment.entries] != [e.logit for e in after.alignment.entries]
    assert "edit 1" in Aligner(model).reply(after).edits
    again = read(model, ask, {ENTITIES: EntityView(table)})
    assert [e.logit for e in again.alignment.entries] == [e.logit for e in before.alignment.entries]


def test_without_links_all_known_answers_are_candidates(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    reading = read(model, ask_about("Where was Kim born?", KIM, use_graph=False), views)
    assert sorted(answers(reading)) == ["1.80 m", "Ada", "Oslo", "Rome"]
    assert reading.kind == "answers"
    unsure = replace(model, confidences={**model.confidences, "answers": Confidence((0.0, 0.0), -9.0, 0.5)})
    declined = Aligner(unsure).reply(reading)
    assert (declined.answer, declined.reason) == (None, NO_ENTITY)
    assert declined.best


def test_a_request_may_bring_its_candidates(model: Model, ask_about: Build, views: Mapping[str, Any]) -> None:
    ask = ask_about("Where was Kim born?", KIM, candidates=("Oslo", "Rome", "Atlantis"))
    reading = read(model, ask, views)
    assert sorted(answers(reading)) == ["Oslo", "Rome"]
    assert reading.exclusions == ("Atlantis",)
    assert reply(model, replace(ask, candidates=("Atlantis",)), views).reason == NO_CANDIDATES


def test_an_entity_without_facts_answers_nothing(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    bare = reply(model, ask_about("Where was Kim born?", replace(KIM, facts=())), views)
    assert (bare.answer, bare.score, bare.reason) == (None, 0.0, NO_FACT)


def test_below_the_threshold_nothing_is_said(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    never = replace(model, confidences=dict.fromkeys(model.confidences, Confidence((0.0, 0.0), 0.0, 0.9)))
    declined = reply(never, ask_about("Where was Kim born?", KIM), views)
    assert declined.answer is None
    assert declined.reason in (UNSURE, NO_FACT)
    assert declined.score == 0.5


def test_alternatives_share_what_the_best_leaves(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    full = reply(model, ask_about("Where was Kim born?", KIM, top_k=3), views)
    assert len(full.alternatives) == 2
    assert full.score + sum(other.score for other in full.alternatives) <= 1 + 1e-9
    assert reply(model, ask_about("Where was Kim born?", KIM), views).alternatives == ()


def test_only_so_many_entities_are_tried(model: Model, views: Mapping[str, Any]) -> None:
    namesakes = tuple(Entity(id, "Kim", facts=KIM.facts) for id in ("kim", "ada", "oslo", "rome", "=1.80 m"))
    reading = read(model, Ask("Where was Kim born?", mentions=(Mention(10, 13, namesakes),)), views)
    assert len(reading.masks) == model.settings.subjects
    assert [rejection.reason for rejection in reading.linking.rejections] == [TOO_MANY]


def test_an_explanation_names_mentions_rows_and_what_leaving_out_does(
    model: Model, ask_about: Build, views: Mapping[str, Any]
) -> None:
    nowhere = Entity("nowhere", "Nowhere", facts=(Fact("x", "x", "y"),))
    ask = ask_about("Where was Kim born, Nowhere?", KIM, nowhere)
    aligner = Aligner(model)
    reading = read(model, ask, views)
    explanation = explain(aligner, reading, views)
    [mention] = explanation["mentions"]
    assert (mention["entity"], mention["text"], mention["token"], mention["row"]) == (
        "kim",
        "Kim",
        3,
        "table",
    )
    assert [drop["entity"] for drop in explanation["dropped"]] == ["nowhere"]
    shares = [entry["share"] for entry in explanation["alignment"]]
    assert sum(shares) + explanation["no_answer"] == pytest.approx(1, abs=1e-3)
    [left_out] = explanation["left_out"]
    assert left_out["entity"] == "kim"
    assert left_out["answer"] in ("Oslo", "Rome", "Ada", "1.80 m")


NAMES = {answer.casefold(): name for answer, name in ANSWERS.items()}


def test_values_of_one_relation_are_one_candidate(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    facts = (
        Fact("birth", "b", "Rome", "rome"),
        Fact("birth", "b", "Oslo", "oslo"),
        Fact("spouse", "s", "Ada", "ada"),
    )
    entity = Entity("kim", "Kim", facts=facts)
    choice = list_neighbours(entity, finder.of_entity(entity), finder)
    assert [candidate.answer for candidate in choice.candidates] == ["Oslo, Rome", "Ada"]
    assert [len(candidate.rows) for candidate in choice.candidates] == [2, 1]


def test_an_object_without_any_row_is_told(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    entity = Entity("kim", "Kim", facts=(Fact("unknown", "u", "Nowhere"),))
    choice = list_neighbours(entity, finder.of_entity(entity), finder)
    assert choice.candidates == ()
    assert choice.exclusions == ("Nowhere",)


def test_texts_of_a_request_are_found_by_neighbour_answer_or_value(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    neighbours = list_neighbours(KIM, finder.of_entity(KIM), finder)
    choice = list_texts(["OSLO", "Rome", "1.80 m", "Atlantis"], [neighbours], NAMES, finder)
    assert [candidate.answer for candidate in choice.candidates] == ["OSLO", "Rome", "1.80 m"]
    assert choice.exclusions == ("Atlantis",)


def test_the_logit_of_a_candidate_adds_up_its_objects(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    entity = Entity(
        "kim", "Kim", facts=(Fact("birth", "b", "Rome", "rome"), Fact("birth", "b", "Oslo", "oslo"))
    )
    [candidate] = list_neighbours(entity, finder.of_entity(entity), finder).candidates
    query = torch.linspace(-1, 1, 12)
    [entry] = align(query, [candidate], 0)
    expected = torch.logsumexp(torch.stack([row.vector for row in candidate.rows]) @ query, 0)
    assert abs(entry.logit - float(expected)) < 1e-5


def test_the_zero_row_has_a_share_and_features_are_bounded(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    candidates = list_neighbours(KIM, finder.of_entity(KIM), finder).candidates
    entries = align(torch.zeros(12), candidates, 0)
    shares, no_answer = Alignment(tuple(entries)).shares()
    assert shares == [0.25] * 3
    assert no_answer == 0.25
    far = align(1000 * candidates[0].rows[0].vector, candidates, 0)
    assert Alignment(tuple(sorted(far, key=lambda entry: -entry.logit))).features == (
        FEATURE_LIMIT,
        FEATURE_LIMIT,
    )


def test_edits_of_facts_and_of_rows_are_named_once(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    spouse = list_neighbours(KIM, finder.of_entity(KIM), finder).candidates[1]
    assert spouse.edits == ("edit 7",)
    row = FoundRow(spouse.rows[0].vector, "edit", "edit 7")
    assert type(spouse)(spouse.answer, (row, row), KIM, spouse.facts).edits == ("edit 7",)


VOCABULARY = WordPieces(find().tokenizer())
TEXT = "Where was Kim born?"
LINK = Link("kim", 10, 13, 1.0)


def test_the_mask_carries_the_row_of_the_subject() -> None:
    layout = lay_mask(place_links(TEXT, [LINK], VOCABULARY), LINK, VOCABULARY)
    texts = [token.text for token in layout.tokens]
    assert texts == ["[CLS]", "where", "was", "kim", "born", "?", "[SEP]", MASK, "[SEP]"]
    assert sorted(layout.links) == [3, 7]
    assert layout.segments[7] == 1
    assert sorted(lay_mask(place_links(TEXT, [], VOCABULARY), None, VOCABULARY).links) == []


def test_a_cut_question_tells_which_mention_it_lost() -> None:
    text, is_cut = cut(place_links(TEXT, [LINK], VOCABULARY), 2)
    assert is_cut
    assert [piece.text for piece in text.pieces] == ["where", "was"]
    assert [(rejection.link, rejection.reason) for rejection in text.rejections] == [(LINK, CUT)]
    assert cut(place_links(TEXT, [LINK], VOCABULARY), 20)[1] is False
