"""Entity answers: candidates compete over all subjects, rows decide, and unanswerable questions are declined."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from models.confidence import Confidence
from models.graph.knowledge import Entity, Fact, Mention
from models.system import UNSURE, Ask, Reply
from models.thu_ernie.answer import NO_CANDIDATES, NO_ENTITY, NO_FACT, Aligner, Reading
from models.thu_ernie.candidates import TOO_MANY
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityTable, EntityView
from models.thu_ernie.explain import explain
from models.thu_ernie.reader import Model
from tests.models.thu_ernie.answering.tiny import ADA, KIM, SIZE

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
    ask, number = ask_about("Where was Kim born?", KIM), table.names.row_of("kim")
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
    assert [drop.answer for drop in reading.exclusions] == ["Atlantis"]
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
