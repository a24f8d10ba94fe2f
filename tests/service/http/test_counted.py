"""Every question is counted by how it ended, alone or in a batch, wherever it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from errata.wire import AnswerRequest
from prometheus_client import REGISTRY

from service.errors import ErrataError, NotFound, NotReady, TooMany, UnknownModel
from service.http.models import Models
from service.replicas.outcome import Outcome

NOBODY_KNOWS = "How deep is the ocean?"


class Model:
    """Answers, declines one question, refuses versions that are not there; or fails as a whole."""

    def __init__(self) -> None:
        self.failure: Exception | None = None

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        if self.failure:
            raise self.failure
        return self._one(args[0]) if method == "answer" else [self._one(one) for one in args[0]]

    def _one(self, request: Mapping[str, Any]) -> Outcome:
        if request.get("version"):
            return Outcome.of(NotFound("there is no such version"), None)
        return Outcome(200, b"{}", declined=request["question"] == NOBODY_KNOWS)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def models(model: Model) -> Models:
    return Models({"counted": model}, chunk=2)


def question(said: str = "Who?", **more: Any) -> AnswerRequest:
    return AnswerRequest(question=said, **{"model": "counted", **more})


def counted() -> dict[str, float]:
    """By outcome, of this model, without what has not been."""
    [family] = [one for one in REGISTRY.collect() if one.name == "errata_answers"]
    mine = [one for one in family.samples if one.labels["model"] == "counted"]
    return {one.labels["outcome"]: one.value for one in mine if one.name.endswith("_total")}


def since(before: Mapping[str, float]) -> dict[str, float]:
    more = {outcome: value - before.get(outcome, 0) for outcome, value in counted().items()}
    return {outcome: value for outcome, value in more.items() if value}


async def test_answers_and_refusals_of_a_replica_are_counted(models: Models) -> None:
    before = counted()
    await models.answer(question())
    await models.answer(question(NOBODY_KNOWS))
    await models.answer(question(version=9))
    await models.answer_many([question(), question(NOBODY_KNOWS), question(version=9)])
    assert since(before) == {"answered": 2, "declined": 2, "not_found": 2}


@pytest.mark.parametrize("more", [{}, {"version": 1}, {"min_version": 1}])
@pytest.mark.parametrize("failure", [NotReady("no replica lives"), TooMany("its queue is full")])
async def test_what_never_reaches_a_replica_is_counted(
    failure: ErrataError, more: dict[str, int], model: Model, models: Models
) -> None:
    before = counted()
    model.failure = failure
    with pytest.raises(type(failure)):
        await models.answer(question(**more))
    assert since(before) == {failure.code: 1}
    outcomes = await models.answer_many([question(**more)] * 5)
    assert [one.status for one in outcomes] == [failure.status] * 5
    assert since(before) == {failure.code: 6}


async def test_who_finds_no_room_at_the_ingress_is_counted(model: Model) -> None:
    before = counted()
    with pytest.raises(TooMany):
        await Models({"counted": model}, chunk=2, room=0).answer(question())
    assert since(before) == {"too_many": 1}


async def test_an_error_that_nobody_foresaw_is_counted(model: Model, models: Models) -> None:
    before = counted()
    model.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await models.answer(question())
    assert since(before) == {"internal": 1}


async def test_a_model_that_a_client_invents_is_no_label(models: Models) -> None:
    with pytest.raises(UnknownModel):
        await models.answer(question(model="invented"))
    await models.answer_many([question(model="invented")])
    assert (
        REGISTRY.get_sample_value("errata_answers_total", {"model": "invented", "outcome": UnknownModel.code})
        is None
    )
