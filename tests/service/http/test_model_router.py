"""Questions reach their model, and every question is counted by how and where it ended."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import pytest
from errata.wire import AnswerRequest
from prometheus_client import REGISTRY

from service.errors import ErrataError, NotFound, NotReady, TooMany
from service.http.model_router import LANES, ModelRouter
from service.outcome import Outcome
from service.scheduling.batch_queue import NO_ASKER
from service.scheduling.turns import Asker
from tests.service.http.conftest import local_router
from tests.service.parts import run_ready

UNANSWERABLE = "How deep is the ocean?"
REQUEST: ContextVar[str] = ContextVar("whose", default="nobody's")


class Model:
    """A model that answers, declines one question, and refuses versions that do not exist; or fails as a whole."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.contexts: list[str] = []

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        return (await self.answer_many([request]))[0]

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        self.contexts.append(REQUEST.get())
        if self.failure:
            raise self.failure
        return [
            Outcome.of(NotFound("there is no such version"), None)
            if request.get("version")
            else Outcome(200, b"{}", declined=request["question"] == UNANSWERABLE)
            for request in requests
        ]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def models(model: Model) -> ModelRouter:
    return local_router({"counted": model}, max_batch=2)


def question(text: str = "Who?", **options: Any) -> AnswerRequest:
    return AnswerRequest(question=text, **{"model": "counted", **options})


async def ask(models: ModelRouter, request: AnswerRequest, asker: Asker = NO_ASKER) -> Outcome:
    return await models.answer(models.prepare(request, asker))


async def ask_many(
    models: ModelRouter, requests: Sequence[AnswerRequest], asker: Asker = NO_ASKER
) -> list[Outcome]:
    return await models.answer_many([models.prepare(request, asker) for request in requests])


def counts() -> dict[str, float]:
    """By outcome, of this model."""
    [family] = [family for family in REGISTRY.collect() if family.name == "errata_answers"]
    return {
        sample.labels["outcome"]: sample.value
        for sample in family.samples
        if sample.labels["model"] == "counted" and sample.name.endswith("_total")
    }


def since(before: Mapping[str, float]) -> dict[str, float]:
    differences = {outcome: value - before.get(outcome, 0) for outcome, value in counts().items()}
    return {outcome: value for outcome, value in differences.items() if value}


async def test_answers_and_refusals_of_a_replica_are_counted(models: ModelRouter) -> None:
    before = counts()
    await ask(models, question())
    await ask(models, question(UNANSWERABLE))
    await ask(models, question(version=9))
    await ask_many(models, [question(), question(UNANSWERABLE), question(version=9)])
    assert since(before) == {"answered": 2, "declined": 2, "not_found": 2}


@pytest.mark.parametrize("options", [{}, {"version": 1}, {"min_version": 1}])
@pytest.mark.parametrize("failure", [NotReady("no replica lives"), TooMany("its queue is full")])
async def test_a_question_that_never_reaches_a_replica_is_counted(
    failure: ErrataError, options: dict[str, int], model: Model, models: ModelRouter
) -> None:
    before = counts()
    model.failure = failure
    with pytest.raises(type(failure)):
        await ask(models, question(**options))
    assert since(before) == {failure.code: 1}
    outcomes = await ask_many(models, [question(**options)] * 5)
    assert [outcome.status for outcome in outcomes] == [failure.status] * 5
    assert since(before) == {failure.code: 6}


async def test_a_question_that_finds_no_room_at_the_ingress_is_counted(model: Model) -> None:
    before = counts()
    with pytest.raises(TooMany):
        await ask(local_router({"counted": model}, 2, capacity=0), question())
    assert since(before) == {"too_many": 1}


async def test_a_call_belongs_to_none_of_those_who_ask(model: Model, models: ModelRouter) -> None:
    async def ask_as(number: int) -> Outcome:
        REQUEST.set(f"request {number}")
        return await ask(models, question())

    await asyncio.gather(*(ask_as(number) for number in range(4)))
    assert set(model.contexts) == {"nobody's"}


class SlowModel(Model):
    """A model that counts the calls under way, and answers when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.batches: list[list[str]] = []
        self.n_single = 0

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        self.n_single += 1
        try:
            await self.gate.wait()
        finally:
            self.n_single -= 1
        return Outcome(200, b"{}")

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        self.batches.append([request["question"] for request in requests])
        await self.gate.wait()
        return [Outcome(200, b"{}")] * len(requests)


STRANGER, VICTIM = Asker("stranger", "1"), Asker("victim", "2")


async def test_a_batch_and_a_single_question_use_one_queue() -> None:
    model = SlowModel()
    models = local_router({"counted": model}, max_batch=32)
    flood = asyncio.create_task(ask_many(models, [question("x" * 2_000)] * 256, STRANGER))
    await run_ready()
    single = asyncio.create_task(ask(models, question("Who?"), VICTIM))
    await run_ready()
    assert [len(batch) for batch in model.batches[:2]] == [1, 1], "20 of 32 leaves no room for another 20"
    model.gate.set()
    assert (await single).status == 200
    assert "Who?" in [text for batch in model.batches[:3] for text in batch]
    flood.cancel()


async def test_a_batch_whose_asker_hung_up_is_not_sent() -> None:
    model = SlowModel()
    models = local_router({"counted": model}, max_batch=32)
    flood = asyncio.create_task(ask_many(models, [question()] * 256, STRANGER))
    await run_ready()
    flood.cancel()
    await run_ready()
    n_sent = sum(map(len, model.batches))
    model.gate.set()
    await run_ready()
    assert 0 < sum(map(len, model.batches)) == n_sent <= 64


@pytest.mark.parametrize("options", [{"version": 0}, {"candidates": ["he", "she"] * 128}])
async def test_long_questions_of_one_caller_wait_for_each_other_and_for_nobody_else(
    options: dict[str, Any],
) -> None:
    model = SlowModel()
    models = local_router({"counted": model}, max_batch=32)
    flood = [asyncio.create_task(ask(models, question(**options), STRANGER)) for _ in range(100)]
    await run_ready()
    assert model.n_single == LANES
    single = asyncio.create_task(ask(models, question(**options), VICTIM))
    await run_ready()
    assert model.n_single == LANES + 1
    for task in flood:
        task.cancel()
    await run_ready()
    assert model.n_single == 1
    model.gate.set()
    assert (await single).status == 200


class Talking(Model):
    """Streams without end."""

    n_streams = 0

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[bytes | Outcome]:
        self.n_streams += 1
        while True:
            yield b"{}"
            await asyncio.sleep(0.01)


async def test_the_streams_of_one_caller_are_bounded_in_number() -> None:
    model = Talking()
    models = local_router({"counted": model})

    async def listen(asker: Asker) -> None:
        async for _ in models.stream(models.prepare(question(stream=True), asker)):
            pass

    flood = [asyncio.create_task(listen(STRANGER)) for _ in range(100)]
    await run_ready()
    assert model.n_streams == LANES
    single = asyncio.create_task(listen(VICTIM))
    await run_ready()
    assert model.n_streams == LANES + 1
    for task in [*flood, single]:
        task.cancel()
