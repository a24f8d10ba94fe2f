"""Calls of a deployment, and writes whose outcome is in doubt."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from ray import serve
from ray.exceptions import ActorDiedError, ActorUnavailableError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RequestCancelledError

from service.config import Settings
from service.editing.call import ATTEMPTS
from service.editing.editor import Editor
from service.errors import Internal, NotReady, StaleVersion, TooMany
from service.http.app import build_app
from service.http.deployment_client import DeploymentClient, ModelClient
from service.outcome import Outcome
from tests.service.editing.requests import FRANCE, PERU, item
from tests.service.http.conftest import ADMIN, client_of, local_editor, local_router
from tests.service.parts import PATIENCE_S

FAILURES = {
    "ours": StaleVersion.at(current=3, expected=2),
    "full": BackPressureError(num_queued_requests=9, max_queued_requests=9),
    "starting": DeploymentUnavailableError.__new__(DeploymentUnavailableError),
    "let go": RequestCancelledError("a request of somebody else"),
    "too late": TimeoutError("of a part further on"),
    "foreign": ZeroDivisionError("division by zero in secret place"),
}


@serve.deployment
class Part:
    def __init__(self) -> None:
        self.deaths = 0

    async def double(self, number: int) -> int:
        return 2 * number

    async def fail(self, how: str) -> None:
        raise FAILURES[how]

    async def die(self, times: int) -> str:
        if self.deaths < times:
            self.deaths += 1
            raise ActorUnavailableError("gone", b"0" * 16) if self.deaths % 2 else ActorDiedError()
        return "alive"

    async def hang(self) -> None:
        await asyncio.sleep(60)


@pytest.fixture
def handle() -> Iterator[serve.handle.DeploymentHandle]:
    return serve.run(Part.bind(), _local_testing_mode=True)


@pytest.mark.parametrize(
    ("how", "expected", "says"),
    [
        ("ours", StaleVersion, "version 3"),
        ("full", TooMany, "the part"),
        ("starting", NotReady, "the part"),
        ("let go", NotReady, "given up"),
        ("too late", NotReady, "given up"),
        ("foreign", Internal, "ZeroDivisionError"),
    ],
)
async def test_every_failure_is_one_of_ours(
    handle: serve.handle.DeploymentHandle, how: str, expected: type[Exception], says: str
) -> None:
    with pytest.raises(expected, match=says) as failure:
        await DeploymentClient(handle, "the part").send(handle.fail, how, timeout_s=PATIENCE_S)
    assert "secret" not in str(failure.value)


async def test_a_question_survives_its_replica_and_an_edit_is_not_sent_twice(
    handle: serve.handle.DeploymentHandle,
) -> None:
    assert (
        await DeploymentClient(handle, "the part", attempts=3).send(handle.die, 2, timeout_s=PATIENCE_S)
        == "alive"
    )
    with pytest.raises(NotReady, match="started again"):
        await DeploymentClient(handle, "the part").send(handle.die, 9, timeout_s=PATIENCE_S)


class CancelledMethod:
    """A method whose call Ray cancels, though no waiting caller asked for that."""

    def __init__(self, hangs: bool) -> None:
        self._hangs = hangs

    async def remote(self) -> None:
        if self._hangs:
            await asyncio.sleep(60)
        raise asyncio.CancelledError


async def test_who_is_cancelled_ends() -> None:
    task = asyncio.create_task(
        DeploymentClient(None, "the part").send(CancelledMethod(hangs=True), timeout_s=PATIENCE_S)
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


@serve.deployment
class Answering:
    """A model of which every process dies at a batch with `fatal`; that question alone is refused the third time."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    async def answer_many(self, questions: list[Mapping[str, Any]]) -> list[Outcome]:
        self.calls.append(len(questions))
        if any(question["question"] == "fatal" for question in questions):
            raise ActorDiedError
        return [Outcome(200, b"") for _ in questions]

    async def answer(self, question: Mapping[str, Any]) -> Outcome:
        self.calls.append(question)
        n_calls = sum(call == question for call in self.calls)
        if question["question"] == "fatal" and n_calls == 1:
            raise ActorDiedError
        return Outcome(500 if question["question"] == "fatal" else 200, question["suspect"].encode())

    async def list_calls(self) -> list[Any]:
        return self.calls


async def test_questions_of_a_batch_whose_replica_dies_are_asked_each_by_itself() -> None:
    handle = serve.run(Answering.bind(), _local_testing_mode=True)
    model = ModelClient(handle, "the model", attempts=3)
    outcomes = await model.answer_many([{"question": name} for name in ("a", "fatal", "b")])
    assert [outcome.status for outcome in outcomes if isinstance(outcome, Outcome)] == [200, 500, 200]
    ids = {outcome.body for outcome in outcomes if isinstance(outcome, Outcome)}
    assert len(ids) == 3
    assert b"" not in ids
    calls = await handle.list_calls.remote()
    assert len(calls) == 1 + 4
    await model.answer_many([{"question": "c"}])
    assert (await handle.list_calls.remote())[-1] == 1


@serve.deployment
class Streaming:
    """A deployment that streams. deaths: how often it dies before it yields the item `dies_at`."""

    def __init__(self) -> None:
        self.deaths = 2

    async def stream(self, question: Mapping[str, Any]) -> AsyncIterator[bytes | Outcome]:
        for place in range(2):
            if self.deaths and place == question["dies_at"]:
                self.deaths -= 1
                raise ActorDiedError
            yield b"a delta"
        yield Outcome(200, b"the answer")


async def collect(dies_at: int) -> list[bytes]:
    handle = serve.run(Streaming.bind(), _local_testing_mode=True)
    items = ModelClient(handle, "the model", attempts=3).stream({"dies_at": dies_at})
    return [item.body if isinstance(item, Outcome) else item async for item in items]


async def test_a_stream_survives_its_replica_until_its_first_word() -> None:
    assert await collect(dies_at=0) == [b"a delta", b"a delta", b"the answer"]
    with pytest.raises(NotReady, match="started again"):
        await collect(dies_at=1)


class MortalEditor:
    """An editor that dies `deaths` times after it has done a request, before its reply is sent."""

    def __init__(self, editor: Editor) -> None:
        self.deaths = 0
        self._editor = editor

    def __getattr__(self, method: str) -> Any:
        async def call(*args: Any, **marks: Any) -> Any:
            outcome = await getattr(self._editor, method)(*args, **marks)
            if self.deaths:
                self.deaths -= 1
                raise ActorDiedError
            return outcome

        return call


@pytest.fixture
def mortal(editor: Editor) -> MortalEditor:
    return MortalEditor(editor)


@pytest.fixture
async def http(config: Settings, mortal: MortalEditor) -> AsyncIterator[httpx.AsyncClient]:
    app: FastAPI = build_app(config, local_router({}), local_editor(mortal))
    async with client_of(app) as client:
        client.headers.update(ADMIN)
        yield client
    await app.state.access.aclose()


def edits(question: str, answer: str) -> dict[str, Any]:
    return {"edits": [item(question, answer)], "wait": "none"}


async def head(http: httpx.AsyncClient) -> int:
    return int((await http.get("/admin/versions")).json()["head"])


async def test_a_write_that_was_made_is_answered_though_its_editor_died(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    for version, (route, body) in enumerate(
        [
            ("edits", edits(PERU, "Cusco")),
            ("reverts", {"version": 1, "wait": "none"}),
            ("edits", edits(FRANCE, "Lyon")),
            ("rollbacks", {"to": 1, "wait": "none"}),
        ],
        start=1,
    ):
        mortal.deaths = ATTEMPTS - 1
        reply = await http.post(f"/admin/{route}", json=body)
        assert (reply.status_code, reply.json()["version"], await head(http)) == (201, version, version)


async def test_one_that_may_have_been_made_says_so_and_its_key_settles_it(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    mortal.deaths = ATTEMPTS
    problem = await http.post("/admin/edits", json=edits(PERU, "Cusco"))
    body = problem.json()
    assert (problem.status_code, body["code"], body["in_doubt"]) == (503, "not_ready", True)
    assert "look at the log" in body["detail"]
    again = {"idempotency-key": body["idempotency_key"]}
    receipt = await http.post("/admin/edits", json=edits(PERU, "Cusco"), headers=again)
    assert (receipt.status_code, receipt.json()["version"], await head(http)) == (201, 1, 1)


async def test_a_name_that_may_have_been_given_is_in_doubt(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    await http.post("/admin/edits", json=edits(PERU, "Cusco"))
    mortal.deaths = 1
    problem = (await http.put("/admin/tags/before-summer", json={"version": 1})).json()
    assert (problem["in_doubt"], problem["idempotency_key"]) == (True, None)
