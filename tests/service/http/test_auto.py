"""A question to `auto` is put to all systems that can read it, and the surest of them answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from errata import AsyncErrata
from errata.cli.app import build_cli
from errata.wire import AnswerRequest
from fastapi import FastAPI
from typer.testing import CliRunner

from service.config import Settings
from service.editing.editor import Editor
from service.errors import NotReady, VersionAhead
from service.http.auto import AutoQuestion, AutoRouter, merge_replies, repeats_question
from service.http.model_router import ModelRouter
from service.outcome import Outcome
from tests.service.http.conftest import (
    ADMIN,
    KEY,
    SHARED_LOOP,
    client_of,
    local_router,
    serve,
    serve_module,
)
from tests.service.http.listening import listening
from tests.service.parts import TOY, settings, start_deployment

SYSTEMS = {
    "toy": TOY,
    "atlas": "tests.service.toy_graph:load_atlas",
    "first-word": "tests.service.toy_documents:load",
}
PERU, HAMLET = "What is the capital of Peru?", "Who wrote Hamlet?"
ECHO = "Is Lima the capital of Peru?"  # the atlas says Lima, and the toy declines with 0.1
MILL = {"text": "Hales built the mill in 1820.", "title": "The mill"}


class Down:
    """A system without a replica."""

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        raise NotReady("the model 'down' is being started again: try again in a moment")

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        return [await self.answer(request) for request in requests]

    async def describe(self) -> dict[str, Any]:
        return await self.answer({})  # type: ignore[return-value]


@pytest.fixture(scope="module")
def shared_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    yield from serve_module(tmp_path_factory, systems=SYSTEMS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(shared_config: Settings) -> AsyncIterator[FastAPI]:
    """Serve the toys, one of which is down, with a document at version 1."""
    async with (
        start_deployment(Editor, shared_config) as editor,
        serve(shared_config, editor, down=Down()) as app,
        client_of(app) as client,
    ):
        put = await client.put("/v1/documents/mill", json=MILL, headers=ADMIN)
        assert put.status_code < 300, put.text
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as client:
        client.headers.update(ADMIN)
        yield client


async def ask(http: httpx.AsyncClient, question: str, **fields: Any) -> dict[str, Any]:
    body = {"question": question, **fields}
    answer: dict[str, Any] = (await http.post("/v1/answers", json=body)).raise_for_status().json()
    return answer


def read_deltas(text: str) -> list[dict[str, Any]]:
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [json.loads(lines[1].removeprefix("data: ")) for lines in blocks if lines[:1] == ["event: delta"]]


def read_others(answer: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return answer, score and reason by model."""
    rows = answer["explanation"]["other_models"]
    return {row["model"]: (row["answer"], row["score"], row["reason"]) for row in rows}


@SHARED_LOOP
async def test_the_surest_answers_and_the_explanation_has_the_others(http: httpx.AsyncClient) -> None:
    answer = await ask(http, PERU, explain=True)
    assert (answer["answer"], answer["score"], answer["model"]) == ("Lima", 1.0, "atlas")
    assert read_others(answer) == {
        "toy": ("Lima", 0.9, None),
        "first-word": (None, 0.0, "unsure"),
        "down": (None, None, "not_ready"),
    }
    (down,) = [row for row in answer["explanation"]["other_models"] if row["model"] == "down"]
    assert "started again" in down["detail"]
    assert (await ask(http, PERU))["explanation"] is None


@SHARED_LOOP
async def test_who_answers_comes_before_who_declines_and_keeps_its_explanation(
    http: httpx.AsyncClient,
) -> None:
    answer = await ask(http, HAMLET, explain=True)
    assert (answer["answer"], answer["model"]) == ("William Shakespeare", "toy")
    assert answer["explanation"]["known"] is True
    assert read_others(answer)["atlas"] == (None, 0.0, "no_entity")


@SHARED_LOOP
async def test_a_document_is_put_to_those_that_read_documents(http: httpx.AsyncClient) -> None:
    answer = await ask(http, PERU, document="mill", explain=True)
    assert (answer["answer"], answer["model"]) == ("Hales", "first-word")
    assert read_others(answer) == {
        "toy": (None, None, "unread_input"),
        "atlas": (None, None, "unread_input"),
        "down": (None, None, "not_ready"),
    }


@SHARED_LOOP
async def test_without_the_graph_those_that_read_none_answer(http: httpx.AsyncClient) -> None:
    answer = await ask(http, PERU, kg="none", explain=True)
    assert (answer["answer"], answer["model"]) == ("Lima", "toy")
    assert read_others(answer)["atlas"] == (None, 0.0, "no_graph")


@SHARED_LOOP
async def test_an_answer_that_repeats_a_name_of_the_question_is_a_decline(http: httpx.AsyncClient) -> None:
    atlas = await ask(http, ECHO, model="atlas")
    assert (atlas["answer"], atlas["score"]) == ("Lima", 1.0)
    answer = await ask(http, ECHO, explain=True)
    assert (answer["answer"], answer["model"], answer["best"]) == (None, "toy", "")
    assert read_others(answer)["atlas"] == ("Lima", 1.0, "repeats_question")


@SHARED_LOOP
async def test_versions_hold_for_all(http: httpx.AsyncClient) -> None:
    assert (await ask(http, PERU, version=0))["version"] == 0
    assert (await ask(http, PERU, document="mill", version=0))["answer"] is None
    assert (await ask(http, PERU, min_version=1))["version"] == 1
    for fields, status, code in (({"version": 9}, 404, "not_found"), ({"min_version": 9}, 503, None)):
        reply = await http.post("/v1/answers", json={"question": PERU, **fields})
        assert reply.status_code == status
        assert code in (None, reply.json()["code"])


@SHARED_LOOP
async def test_a_stream_has_the_answer_and_openai_the_model(http: httpx.AsyncClient) -> None:
    reply = await http.post("/v1/answers", json={"question": PERU, "stream": True})
    events = [line for line in reply.text.splitlines() if line.startswith("event")]
    assert events[-2:] == ["event: answer", "event: done"]
    progress = [delta["progress"] for delta in read_deltas(reply.text)]
    assert [row["n_replied"] for row in progress] == list(range(5 - len(progress), 5))
    assert {row["n_asked"] for row in progress} == {4}
    late = await http.post("/v1/answers", json={"question": PERU, "stream": True, "version": 9})
    assert late.status_code == 404, "no event comes before an answer is sure to come"
    chat = {"model": "auto", "messages": [{"role": "user", "content": HAMLET}]}
    completion = (await http.post("/v1/chat/completions", json=chat)).json()
    assert (completion["model"], completion["choices"][0]["message"]["content"]) == (
        "toy",
        "William Shakespeare",
    )
    chunks = await http.post("/v1/chat/completions", json=chat | {"stream": True})
    assert '"content":"William Shakespeare"' in chunks.text


@SHARED_LOOP
async def test_the_command_and_the_sdk_ask_auto(app: FastAPI) -> None:
    async with listening(app) as url:
        environment = {"ERRATA_URL": url, "ERRATA_KEY": KEY, "COLUMNS": "200"}
        words = ["ask", "--explain", HAMLET]
        result = await asyncio.to_thread(CliRunner().invoke, build_cli(*words[:1]), words, env=environment)
        assert result.exit_code == 0, result.output
        assert all(
            text in result.output
            for text in (
                "William Shakespeare",
                "by toy",
                "atlas",
                "first-word",
                "started again",
                "down did not",
            )
        )
        async with AsyncErrata(url, key=KEY) as client:
            assert (await client.ask(HAMLET)).model == "toy"
            (result,) = (await client.ask_many([HAMLET])).results
            assert result.answer is not None
            assert result.answer.model == "toy"


class Reader:
    """A system that counts its questions, and takes a while."""

    def __init__(self, inputs: Sequence[str] = (), wait_s: float = 0.0, **answer: Any) -> None:
        self.inputs, self.wait_s, self.body = list(inputs), wait_s, reply(**answer)
        self.requests: list[Mapping[str, Any]] = []

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        return (await self.answer_many([request]))[0]

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        self.requests += requests
        await asyncio.sleep(self.wait_s)
        return [self.body] * len(requests)

    async def describe(self) -> dict[str, Any]:
        return {"inputs": self.inputs}


def reply(answer: str | None = "Lima", score: float = 0.9, **fields: Any) -> Outcome:
    default = {"best": answer or "", "reason": None, "reason_text": None, "edits": [], "explanation": None}
    return Outcome(200, json.dumps({"answer": answer, "score": score, **default, **fields}).encode())


def request(question: str = PERU, **fields: Any) -> AnswerRequest:
    return AnswerRequest(question=question, model="auto", **fields)


def router(models: ModelRouter, patience_s: float = 10.0) -> AutoRouter:
    return AutoRouter(models, 32, patience_s=patience_s)


@pytest.mark.parametrize(
    ("fields", "name"),
    [({"context": "Lima."}, "`context`"), ({"candidates": ["Lima"], "kg": "none"}, "`candidates`")],
)
async def test_a_question_that_no_system_reads_says_so(fields: dict[str, Any], name: str) -> None:
    reader = Reader(["graph"])
    auto = router(local_router({"a": reader}))
    outcome = await auto.answer(await auto.prepare(request(**fields)))
    assert outcome.status in (400, 422)
    assert name in json.loads(outcome.body)["detail"]
    assert reader.requests == []


async def test_systems_are_asked_together_and_a_late_one_is_not_waited_for() -> None:
    slow = Reader(wait_s=30.0, score=1.0)
    auto = router(local_router({"a": Reader(wait_s=0.05), "slow": slow}), patience_s=0.5)
    async with asyncio.timeout(25):
        outcome = await auto.answer(await auto.prepare(request(explain=True)))
    answer = json.loads(outcome.body)
    assert (answer["score"], len(slow.requests)) == (0.9, 1)
    assert read_others(answer) == {"slow": (None, None, "not_ready")}


@pytest.mark.parametrize(
    ("replies", "answer", "best"),
    [
        ([reply("Lima", 0.6), reply("Cusco", 0.7)], "Cusco", "Cusco"),
        ([reply("Cusco", 0.7), reply("Lima", 0.6)], "Cusco", "Cusco"),
        ([reply("Cusco", 0.1), reply(None, 0.5, best="Lima")], "Cusco", "Cusco"),
        ([reply(None, 0.1, best="Cusco"), reply(None, 0.2, best="Lima")], None, "Lima"),
        ([reply(None, 0.1, best="Cusco"), reply(None, 0.19, best="Lima")], None, ""),
        ([reply(None, 0.3, best="Peru"), reply(None, 0.2, best="Lima")], None, "Lima"),
        ([reply("peru", 0.9), reply(None, 0.2, best="Lima")], None, "Lima"),
        ([reply("peru", 0.9)], None, ""),
        ([reply("Lima", 1.0), reply("Cusco", 0.6, edits=["e"])], "Cusco", "Cusco"),
        ([reply("Lima", 1.0), reply("Cusco", 0.4, edits=["e"])], "Lima", "Lima"),
        ([reply("Lima", 0.8, edits=["e"]), reply("Cusco", 0.9, edits=["f"])], "Cusco", "Cusco"),
    ],
)
async def test_the_choice(replies: Sequence[Outcome], answer: str | None, best: str) -> None:
    models = local_router({str(number): Reader() for number in range(len(replies))})
    question = await router(models).prepare(request())
    assert isinstance(question, AutoQuestion)
    outcome = merge_replies(question, {str(number): reply for number, reply in enumerate(replies)})
    body = json.loads(outcome.body)
    assert (body["answer"], body["best"], outcome.declined) == (answer, best, answer is None)


@pytest.mark.parametrize(
    ("answer", "edits", "expected"),
    [(None, [], "e"), ("Lima", [], "e"), ("Lima", ["g"], None)],
)
async def test_a_reply_without_an_edit_names_the_nearest_of_all_systems(
    answer: str | None, edits: Sequence[str], expected: str | None
) -> None:
    """A question about a name that was not taught says what was near, whichever system is heard."""
    models = local_router({str(number): Reader() for number in range(3)})
    question = await router(models).prepare(request())
    assert isinstance(question, AutoQuestion)
    near = [{"edit": edit, "question": PERU, "probability": p} for edit, p in (("e", 0.15), ("f", 0.1))]
    declines = [reply(None, 0.2, nearby_edit=edit) for edit in near]
    replies = [reply(answer, 0.9, edits=edits), *declines]
    outcome = merge_replies(question, {str(place): outcome for place, outcome in enumerate(replies)})
    nearby = json.loads(outcome.body)["nearby_edit"] if not edits else None
    assert (nearby["edit"] if nearby else None) == expected
    assert not outcome.is_near, "no system holds that the edit may be meant"


@pytest.mark.parametrize(
    ("answer", "edits", "fields", "expected"),
    [
        ("PERU", [], {}, True),
        ("capital of Peru", [], {}, True),
        ("Per", [], {}, False),
        ("?", [], {}, False),
        ("Peru", [], {"candidates": ["Peru", "Chile"]}, False),
        ("Peru", ["edit"], {}, False),
        ("Peru", ["edit"], {"document": "atlas"}, True),
    ],
)
def test_what_repeats_the_question(
    answer: str, edits: list[str], fields: dict[str, Any], expected: bool
) -> None:
    assert repeats_question(answer, edits, request(**fields)) is expected


class Speaker(Reader):
    """A system that streams its answer in two parts."""

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[bytes | Outcome]:
        for text in ("Li", "ma"):
            yield json.dumps({"text": text, "progress": None}).encode()
        yield self.body


@pytest.mark.parametrize(("answer", "expected"), [("Lima", "Lima"), ("Peru", None)])
async def test_the_text_of_the_only_system_that_is_asked_is_streamed(
    answer: str, expected: str | None
) -> None:
    auto = router(local_router({"speaker": Speaker(["context"], answer=answer), "mute": Reader()}))
    items = [item async for item in auto.stream(await auto.prepare(request(context="Lima.")))]
    assert [json.loads(item)["text"] for item in items[:-1] if isinstance(item, bytes)] == ["Li", "ma"]
    assert isinstance(items[-1], Outcome)
    assert json.loads(items[-1].body)["answer"] == expected


@pytest.mark.parametrize(
    ("systems", "default", "to_ask", "to_correct"),
    [
        ("ab", None, "auto", "a"),
        ("ab", "auto", "auto", "a"),
        ("ab", "b", "b", "b"),
        ("a", None, "a", "a"),
        ("a", "auto", "auto", "a"),
    ],
)
def test_which_model_is_asked_and_corrected_by_default(
    tmp_path: Path, systems: str, default: str | None, to_ask: str, to_correct: str
) -> None:
    config = settings(
        "redis://127.0.0.1", tmp_path, systems=dict.fromkeys(systems, TOY), default_model=default
    )
    assert (config.model_to_ask, config.model_to_correct) == (to_ask, to_correct)


async def test_a_text_is_drawn_by_the_systems_that_write_freely() -> None:
    writer, reader = Reader(["sampling"]), Reader()
    auto = router(local_router({"writer": writer, "reader": reader}))
    await auto.answer(await auto.prepare(request(sampling={"temperature": 0.5})))
    assert [len(writer.requests), len(reader.requests)] == [1, 0]
    assert [await auto.draws(name) for name in ("writer", "reader", "auto", "nobody")] == [
        *(True, False, False, False)
    ]


class Lagging(Reader):
    """A system whose replicas have different versions: each question reaches the next of them, and the last is lost."""

    def __init__(self, *newest: int, **answer: Any) -> None:
        super().__init__()
        self.newest, self.fields = list(newest), answer

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        self.requests += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: Mapping[str, Any]) -> Outcome:
        if not self.newest:
            raise NotReady("the model is being started again: try again in a moment")
        newest = self.newest.pop(0)
        if newest < request.get("min_version", 0):
            return Outcome.of(VersionAhead("it is not there yet", version=newest), None)
        version = request.get("version", min(newest, request.get("max_version", newest)))
        return replace(reply(**self.fields), version=version)


TO_A = {"model": "a"}


@pytest.mark.parametrize(
    ("a", "b", "fields", "versions", "n_requests"),
    [
        ([5], [5], [{}], [5], 2),
        ([5, 5], [4], [{}], [4], 3),
        ([5, 3], [4, 4], [{}], [3], 4),
        ([5], [4], [{"version": 4}], [4], 2),
        ([5, 5], [4], [{"min_version": 4}], [4], 3),
        ([5], [4], [{"min_version": 5}], [5], 2),
        ([5, 4, 5], [], [TO_A, TO_A], [4, 4], 3),
        ([5, 3, 5], [], [TO_A | {"min_version": 5}, TO_A], [5, 5], 3),
        ([5, 3, 3], [], [TO_A | {"min_version": 5}, TO_A], [5, None], 3),
        ([3, 4], [], [TO_A | {"min_version": 5}, TO_A], [None, 4], 2),
        ([5, 4], [], [TO_A | {"version": 2}, TO_A], [2, 4], 2),
        ([5, 5, 5, 5], [4], [{}, TO_A], [4, 4], 5),
    ],
)
async def test_replies_to_one_request_are_of_one_version(
    a: list[int], b: list[int], fields: list[dict[str, Any]], versions: list[int | None], n_requests: int
) -> None:
    """It is the oldest that came back; no question waits for a replica that lags, or hears what is too old for it."""
    systems = {"a": Lagging(*a), "b": Lagging(*b)}
    auto = router(local_router(systems, max_batch=2))
    requests = [AnswerRequest.model_validate({"question": PERU, "model": "auto", **item}) for item in fields]
    outcomes = await auto.answer_many([await auto.prepare(item) for item in requests])
    assert [outcome.version for outcome in outcomes] == versions
    assert sum(len(system.requests) for system in systems.values()) == n_requests


@pytest.mark.parametrize(
    ("a", "b", "away", "degraded"),
    [
        (Lagging(5), Lagging(4), ["a"], None),
        (Lagging(), Lagging(4), ["a"], None),
        (Lagging(4), Lagging(5, 5, degraded="ledger_unavailable"), [], "ledger_unavailable"),
        (Lagging(4, score=0.1, degraded="ledger_unavailable"), Lagging(4), [], "ledger_unavailable"),
        (Lagging(4), Lagging(4), [], None),
    ],
)
async def test_an_answer_that_lacks_a_system_or_may_be_old_says_so(
    a: Lagging, b: Lagging, away: list[str], degraded: str | None
) -> None:
    """Where a system is lost between the two times that it is asked, the answer of the other is given."""
    auto = router(local_router({"a": a, "b": b}))
    *_, outcome = [item async for item in auto.stream(await auto.prepare(request()))]
    assert isinstance(outcome, Outcome)
    body = json.loads(outcome.body)
    assert (outcome.version, body["away"], body["degraded"]) == (4, away, degraded)
