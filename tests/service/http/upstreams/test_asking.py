"""Curators ask a model of an upstream as they ask ours: /v1/answers, its batch, why, and the console's page."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from service.editing.editor import Editor
from service.http import upstream_answers
from service.upstream import pool
from service.upstream.breaker import FAILURES
from tests.service.http.upstreams.origin import Origin, of_json
from tests.service.http.upstreams.test_passing import ANSWER, QUESTION
from tests.service.http.upstreams.test_rest import MODELS, OBSERVE
from tests.service.parts import edit

OTHER = "How tall is the mast at Oberau?"
TEXT = "It is 40 m tall."


def completion(text: str | None, finish: str = "stop") -> list[bytes]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    return of_json(json.dumps({"choices": [choice], "usage": usage}).encode())


async def ask(client: httpx.AsyncClient, question: str, **fields: Any) -> dict[str, Any]:
    body = {"question": question, "model": "team/tiny"} | fields
    answer: dict[str, Any] = (await client.post("/v1/answers", json=body)).json()
    return answer


async def test_the_model_or_an_edit_answers_and_the_answer_says_which(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    origin.pieces = completion(TEXT)
    answer = await ask(client, QUESTION)
    assert (answer["answer"], answer["upstream"], answer["edits"]) == (TEXT, "team", [])
    assert (answer["model"], answer["version"], answer["finish"]) == ("team/tiny", 0, "stop")
    assert json.loads(origin.body) == {
        "model": "tiny",
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": upstream_answers.MAX_TOKENS,
    }
    await edit(editor, QUESTION, ANSWER)
    answer = await ask(client, QUESTION, min_version=1)
    assert (answer["answer"], answer.get("upstream"), answer["model"]) == (ANSWER, None, "team/tiny")
    assert (answer["version"], answer["edited_in"], len(answer["edits"])) == (1, 1, 1)
    assert (await ask(client, QUESTION, version=0))["answer"] == TEXT
    assert len(origin.requests) == 2
    assert (await client.get("/admin/gaps")).json()["gaps"] == []
    page = (await client.get("/metrics")).text
    assert 'errata_upstream_tokens_total{kind="output",upstream="team"} ' in page


async def test_a_stream_and_a_link_have_the_answer(client: httpx.AsyncClient, origin: Origin) -> None:
    origin.pieces = completion(TEXT)
    body = {"question": OTHER, "model": "team/tiny", "stream": True}
    assert "event: answer" in (await client.post("/v1/answers", json=body)).text
    link = await client.get("/v1/answers", params={"question": OTHER, "model": "team/tiny"})
    assert link.json()["answer"] == TEXT


async def test_a_batch_puts_a_question_to_its_upstream_once_at_all_versions(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    origin.pieces = completion(TEXT)
    questions = [
        {"question": question, "model": "team/tiny", "version": version}
        for question in (QUESTION, OTHER)
        for version in (0, 1)
    ]
    questions += [
        {"question": OTHER, "model": "team"},
        {"question": OTHER, "model": "team/tiny", "kg": "none"},
    ]
    results = (await client.post("/v1/answers/batch", json={"questions": questions})).json()["results"]
    assert [result["answer"]["answer"] for result in results[:4]] == [TEXT, ANSWER, TEXT, TEXT]
    assert [result["problem"]["code"] for result in results[4:]] == ["unknown_model", "invalid_input"]
    assert len(origin.requests) == 2


async def test_fields_of_drawing_cross_and_others_are_refused(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    origin.pieces = completion("cut", "length")
    answer = await ask(client, OTHER, sampling={"temperature": 0.5, "max_tokens": 9, "stop": ["x"]})
    assert answer["finish"] == "length"
    sent_fields = json.loads(origin.body)
    assert (sent_fields["temperature"], sent_fields["max_tokens"], sent_fields["stop"]) == (0.5, 9, ["x"])
    for fields in ({"context": "It is."}, {"top_k": 2}, {"explain": True}, {"sampling": {"logprobs": 1}}):
        refusal = await ask(client, OTHER, **fields)
        assert (
            refusal["code"],
            next(iter(fields)) in refusal["detail"] or "logprobs" in refusal["detail"],
        ) == (
            "invalid_input",
            True,
        )
    assert len(origin.requests) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("401 no", "upstream_failed"),
        ("404 no", "unknown_model"),
        ("429 no", "upstream_failed"),
        ("500 no", "upstream_failed"),
    ],
)
async def test_errors_of_an_upstream_are_documented_ones(
    client: httpx.AsyncClient, origin: Origin, status: str, code: str
) -> None:
    origin.pieces = of_json(
        b'{"error": {"message": "bad key sk-secret"}}', head=f"HTTP/1.1 {status}\r\n".encode()
    )
    refusal = await ask(client, OTHER)
    assert refusal["code"] == code
    assert "secret" not in refusal["detail"]


async def test_what_is_no_chat_completion_is_a_failure(client: httpx.AsyncClient, origin: Origin) -> None:
    for body in (b"{}", b"[", b'{"choices":[{"message":{"content":[]}}]}', b"1" * 1_000_001):
        origin.pieces = of_json(body)
        assert (await ask(client, OTHER)).get("code", "no_text") in ("upstream_failed", "no_text")
    origin.pieces = completion(None)
    answer = await ask(client, OTHER)
    assert (answer["answer"], answer["reason"]) == (None, "no_text")
    assert "max_tokens" not in answer["reason_text"]
    origin.pieces = completion(None, finish="length")
    answer = await ask(client, OTHER)
    assert (answer["reason"], answer["finish"]) == ("no_text", "length")
    assert "max_tokens" in answer["reason_text"]


async def test_an_upstream_that_stays_silent_is_left_alone(
    client: httpx.AsyncClient, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "OWN_IDLE_S", 0.1)
    origin.gate.clear()
    origin.pieces = [b"", *completion(TEXT)]
    codes = [(await ask(client, f"{OTHER} {n}"))["code"] for n in range(FAILURES + 1)]
    assert codes == ["upstream_slow"] * FAILURES + ["not_ready"]


async def test_a_slow_upstream_ends_in_time(
    client: httpx.AsyncClient, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_answers, "LIMIT_S", 0.2)
    origin.gate.clear()
    origin.pieces = [b"", *completion(TEXT)]
    assert (await ask(client, OTHER))["code"] == "upstream_slow"
    await asyncio.wait_for(origin.hang_up.wait(), 20)


async def test_an_upstream_is_sent_fields_for_callers_with_a_key_alone(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    del client.headers["authorization"]
    assert (await ask(client, OTHER))["code"] == "unauthorized"
    questions = [{"question": OTHER, "model": model} for model in ("toy", "team/tiny")]
    results = (await client.post("/v1/answers/batch", json={"questions": questions})).json()["results"]
    assert results[0]["answer"]["model"] == "toy"
    assert results[1]["problem"]["code"] == "unauthorized"
    assert origin.requests == []


@pytest.mark.parametrize("config", [OBSERVE], indirect=True)
async def test_an_edit_that_may_not_answer_is_near(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    receipt = await edit(editor, QUESTION, ANSWER)
    origin.pieces = completion(TEXT)
    answer = await ask(client, QUESTION)
    [change] = receipt["report"]["edits"]
    assert (answer["answer"], answer["nearby_edit"]["edit"], answer["edits"]) == (TEXT, change["id"], [])


async def test_why_names_the_edit_and_what_the_model_says_without_it(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    origin.pieces = completion(TEXT)
    query = {"question": QUESTION, "model": "team/tiny"}
    report = (await client.get("/admin/why", params=query)).json()
    assert [cause["version"] for cause in report["causes"]] == [1]
    assert (report["answer"]["model"], report["answer"]["answer"]) == ("team/tiny", ANSWER)
    assert report["without"] == {"answer": TEXT, "edits": []}
    report = (await client.get("/admin/why", params=query | {"question": OTHER})).json()
    assert (report["answer"]["upstream"], report["causes"], report.get("without")) == ("team", [], None)


async def test_the_consoles_page_asks_an_upstream_only_if_it_is_chosen(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    origin.pieces = of_json(MODELS)
    await client.get("/v1/models")
    origin.pieces = completion(TEXT)
    client.cookies.set("errata_key", client.headers["authorization"].removeprefix("Bearer "), path="/console")
    n_requests = len(origin.requests)
    page = (await client.get("/console/ask", params={"question": OTHER})).text
    assert "<option>team/tiny</option>" in page
    assert len(origin.requests) == n_requests
    page = (await client.get("/console/ask", params={"question": OTHER, "model": "team/tiny"})).text
    assert TEXT in page
    assert "the model itself" in page
    assert "<option selected>team/tiny</option>" in page
