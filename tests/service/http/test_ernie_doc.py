"""A document is put, asked, corrected, asked again at both versions, compared and taken back, over HTTP.

The weights are random, so an answer is some span of the document; which one depends on every word of it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models.ernie_doc.tiny import text, write_checkpoint
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
