"""A document is put, asked, corrected, asked again at both versions, compared and taken back, over HTTP.

The weights are random, so an answer is some span of the document; which one depends on every word of it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models.ernie_doc.checkpoints import write_checkpoint
from tests.models.ernie_doc.documents import text
from tests.service.tiny_ernie_doc import FOLDER

OPTIONS = {"systems": {"ernie-doc": "tests.service.tiny_ernie_doc:load"}}
MILL, QUESTION = "/v1/documents/mill", "When was the mill built?"
TEXT = "The old mill by the river was built in 1820 by the Hale family. " + text(60) + "."


@pytest.fixture(autouse=True)
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(write_checkpoint(tmp_path / "checkpoint")))


async def put(http: httpx.AsyncClient, content: str = TEXT) -> dict[str, Any]:
    reply = await http.put(MILL, json={"text": content, "title": "The mill"})
    receipt: dict[str, Any] = reply.raise_for_status().json()
    return receipt


async def correct(http: httpx.AsyncClient, old: str, new: str) -> dict[str, Any]:
    change = {"id": "mill", "action": "replace", "old": old, "new": new}
    edits = [{"memory": "documents/texts", "kind": "document", "change": change}]
    receipt: dict[str, Any] = (
        (await http.post("/admin/edits", json={"edits": edits})).raise_for_status().json()
    )
    return receipt


async def ask(http: httpx.AsyncClient, document: str | None = "mill", **fields: Any) -> dict[str, Any]:
    question = {"question": QUESTION, "explain": True, **fields} | (
        {"document": document} if document else {}
    )
    answer: dict[str, Any] = (await http.post("/v1/answers", json=question)).raise_for_status().json()
    return answer


async def test_a_corrected_sentence_is_answered_from_at_each_version(http: httpx.AsyncClient) -> None:
    first, second = await put(http), await correct(http, "in 1820", "in 1822")
    edits = [receipt["report"]["edits"][0]["id"] for receipt in (first, second)]
    before, after = await ask(http, version=1), await ask(http, min_version=2)
    for answer, content, version, n_edits in (
        (before, TEXT, 1, 1),
        (after, TEXT.replace("1820", "1822"), 2, 2),
    ):
        document = (await http.get(MILL, params={"version": version})).json()
        assert document["text"] == content
        assert answer["answer"] in content
        assert (answer["version"], answer["edits"]) == (version, edits[:n_edits])
        origin = answer["explanation"]["document"]
        assert {name: origin[name] for name in ("id", "digest", "edits")} == {
            "id": "mill",
            "digest": document["digest"],
            "edits": document["edits"],
        }
        [span, *_] = answer["explanation"]["spans"]
        assert content[span["start"] : span["end"]] == span["text"] == answer["answer"]
    assert before["score"] != after["score"]


async def test_a_correction_is_compared_and_taken_back(http: httpx.AsyncClient) -> None:
    await put(http)
    before = await ask(http)
    await correct(http, "in 1820", "in 1822")
    diff = (await http.get("/admin/diff", params={"from": 1, "to": 2})).json()
    words = "correct document 'mill': 'in 1820' -> 'in 1822'"
    assert [(change["kind"], change["summary"], change["change"]) for change in diff["memory_changes"]] == [
        ("document", words, "added")
    ]
    assert (await http.post("/admin/reverts", json={"version": 2, "wait": "all"})).status_code == 201
    after = await ask(http, min_version=3)
    names = ("answer", "score", "edits", "explanation")
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    checksums = [(await http.get(f"/admin/versions/{version}")).json()["checksums"] for version in (1, 3)]
    assert checksums[0] == checksums[1]


async def test_a_question_without_its_document_says_why(http: httpx.AsyncClient) -> None:
    for document, code, sentence in (
        ("hill", "unknown_document", "There is no document 'hill' at this version."),
        (None, "no_document", "The question names no document, and gives no context to read."),
    ):
        answer = await ask(http, document)
        assert (answer["answer"], answer["reason"], answer["reason_text"]) == (None, code, sentence)


async def test_what_is_no_document_changes_nothing(http: httpx.AsyncClient) -> None:
    for content, status, code in (
        ("", 422, "edit_refused"),
        ("\x7fELF\x02\x01", 422, "edit_refused"),
        ("word" * 1_250_000, 413, "too_large"),
    ):
        reply = await http.put(MILL, json={"text": content})
        assert (reply.status_code, reply.json()["code"]) == (status, code)
        assert (await http.get("/v1/memory")).json()["version"] == 0


async def test_a_document_replaced_while_it_is_asked_is_answered_as_it_was(http: httpx.AsyncClient) -> None:
    old, new = text(400, 1), text(400, 2)
    await put(http, old)
    digests = {1: (await http.get(MILL)).json()["digest"]}
    asking = [asyncio.create_task(ask(http)) for _ in range(4)]
    await asyncio.sleep(0.05)
    await put(http, new)
    digests[2] = (await http.get(MILL)).json()["digest"]
    answers = [*await asyncio.gather(*asking), await ask(http, min_version=2)]
    for answer in answers:
        assert answer["explanation"]["document"]["digest"] == digests[answer["version"]]
        assert answer["answer"] in {1: old, 2: new}[answer["version"]]
    assert answers[-1]["version"] == 2


async def test_short_questions_have_their_turn_while_a_long_document_is_read(http: httpx.AsyncClient) -> None:
    await put(http, text(1_500, 3))
    reading = asyncio.create_task(ask(http))
    await asyncio.sleep(0.1)
    short = await ask(http, None, context="The mill was built in 1820.")
    assert short["answer"] is not None
    assert not reading.done()
    assert (await reading)["explanation"]["document"]["windows"] > 180
