"""The deployments that answer, by the name a caller gives; the only hop of a question starts here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from errata.wire import AnswerRequest

from service.errors import ErrataError, UnknownModel
from service.http.callee import Callee
from service.http.counted import begin_at_zero, count, counting_failures
from service.http.gathering import Gathering
from service.replicas.outcome import Outcome
from service.tracing import inject

LIMIT_S = 30.0


class Models:
    """chunk: how many questions one call carries; further ones go to other replicas meanwhile.

    lanes: calls under way for one model before questions wait to be gathered. room: how many may wait.
    """

    def __init__(self, callees: Mapping[str, Callee], chunk: int, lanes: int = 2, room: int = 256) -> None:
        self._callees = callees
        self._chunk = chunk
        self._gatherings = {
            name: Gathering(name, callee, lanes, chunk, room, LIMIT_S) for name, callee in callees.items()
        }
        for name in callees:
            begin_at_zero(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._callees)

    def of(self, name: str) -> Callee:
        if name not in self._callees:
            known = ", ".join(self._callees)
            raise UnknownModel(
                f"there is no model {name!r} here: there is {known}", models=list(self._callees)
            )
        return self._callees[name]

    async def each(self, method: str, limit_s: float) -> dict[str, Any]:
        """What one replica of each model returns."""
        return {name: await callee.call(method, limit_s=limit_s) for name, callee in self._callees.items()}

    async def answer(self, asked: AnswerRequest) -> Outcome:
        callee = self.of(asked.model)
        with counting_failures(asked.model):
            outcome = await self._ask(callee, asked)
        count(asked.model, outcome)
        return outcome

    async def _ask(self, callee: Callee, asked: AnswerRequest) -> Outcome:
        """A question that may have to wait for a version goes alone, so that nobody waits with it."""
        question = _plain(asked)
        if asked.version is None and asked.min_version is None:
            return await self._gatherings[asked.model].ask(question)
        outcome: Outcome = await callee.call("answer", question, limit_s=LIMIT_S)
        return outcome

    async def answer_many(self, asked: Sequence[AnswerRequest]) -> list[Outcome]:
        """One outcome each, in order. Nothing is raised: what fails a chunk is the outcome of each of its items."""
        places: dict[str, list[int]] = {}
        for place, one in enumerate(asked):
            places.setdefault(one.model, []).append(place)
        chunks = [
            (model, found[start : start + self._chunk])
            for model, found in places.items()
            for start in range(0, len(found), self._chunk)
        ]
        done = await asyncio.gather(*(self._together(m, [asked[p] for p in found]) for m, found in chunks))
        by_place = {
            p: o
            for (_, found), got in zip(chunks, done, strict=True)
            for p, o in zip(found, got, strict=True)
        }
        return [by_place[place] for place in range(len(asked))]

    async def _together(self, model: str, asked: Sequence[AnswerRequest]) -> list[Outcome]:
        try:
            callee = self.of(model)
        except UnknownModel as error:
            return [Outcome.of(error, None)] * len(asked)
        try:
            requests = [_plain(one) for one in asked]
            outcomes: list[Outcome] = await callee.call("answer_many", requests, limit_s=LIMIT_S)
        except ErrataError as error:
            outcomes = [Outcome.of(error, None)] * len(asked)
        for outcome in outcomes:
            count(model, outcome)
        return outcomes


def _plain(asked: AnswerRequest) -> dict[str, object]:
    """With the trace that it is part of, for questions of several requests cross the handle in one call."""
    trace = inject()
    return asked.model_dump(exclude_defaults=True, exclude={"stream"}) | ({"trace": trace} if trace else {})
