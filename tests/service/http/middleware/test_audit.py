"""Every call of an admin route is in the audit, the refused ones too: who, what, from where, with what outcome."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
import redis
from fastapi import FastAPI

from service.access.audit import AUDIT, Audit, Call
from service.editing.deployment import Editor
from service.errors import GraphMoved
from service.http.middleware import audit
from service.outcome import Outcome
from tests.service.http.conftest import JSON, KEY


async def newest(http: httpx.AsyncClient, **filter: Any) -> list[dict[str, Any]]:
    """But for the calls that read the audit."""
    reply = await http.get("/admin/audit", params={"limit": 100, **filter})
    assert reply.status_code == 200, reply.text
    return [entry for entry in reply.json()["entries"] if entry["path"] != "/admin/audit"]


def edit(answer: str) -> dict[str, Any]:
    return {"edits": [{"question": "who?", "answer": answer, "model": "toy"}], "message": "asked by Ben"}


async def test_a_commit_is_noted_with_its_version_and_what_it_was(http: httpx.AsyncClient) -> None:
    assert (await http.post("/admin/edits", json=edit("anna"))).headers["errata-version"] == "1"
    await http.post("/admin/reverts", json={"version": 1})
    second, first = await newest(http)
    assert (first["name"], first["by"], first["status"], first["version"]) == ("admin", "admin", 201, 1)
    assert first["summary"] == "'who?' -> 'anna' (asked by Ben)"
    assert (second["path"], second["summary"], second["version"]) == (
        "/admin/reverts",
        "version 1 taken back",
        2,
    )
    assert first["address"] == "127.0.0.1"


async def test_refused_calls_are_noted_with_their_code(
    http: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    await http.post("/admin/edits", content=b"{", headers=JSON)
    await http.post("/admin/reverts", json={"version": 9})
    await http.get("/admin/nowhere")
    await http.get("/admin/versions", headers={"authorization": "Bearer wrong"})
    entries = await newest(http, refused=True)
    assert [(entry["name"], entry["status"], entry.get("code")) for entry in entries] == [
        ("", 401, "unauthorized"),
        ("", 404, "not_found"),
        ("admin", 404, "not_found"),
        ("admin", 400, "malformed_json"),
    ]


async def test_a_caller_who_lacks_the_scope_is_noted_by_name(http: httpx.AsyncClient) -> None:
    key = (await http.post("/admin/keys", json={"name": "ben", "scopes": ["ask"]})).json()["key"]
    await http.post("/admin/edits", json=edit("anna"), headers={"authorization": f"Bearer {key}"})
    (entry,) = await newest(http, name="ben")
    assert (entry["status"], entry["code"], entry["by"]) == (403, "forbidden", "key")


async def test_no_key_gets_into_the_audit(http: httpx.AsyncClient, raw: redis.Redis) -> None:
    key = (await http.post("/admin/keys", json={"name": "ben", "scopes": ["ask"]})).json()["key"]
    await http.get(f"/admin/versions?key={key}", headers={"authorization": f"Bearer {key}"})
    entries = json.dumps([str(entry) for entry in raw.xrange(AUDIT)])
    assert "ben" in entries
    assert key not in entries
    assert KEY not in entries


async def test_filters_leave_out_the_others(http: httpx.AsyncClient) -> None:
    for answer in ("anna", "ben"):
        await http.post("/admin/edits", json=edit(answer))
    await http.get("/admin/versions")
    assert [entry["path"] for entry in await newest(http, path="/admin/v")] == ["/admin/versions"]
    assert [entry["version"] for entry in await newest(http, version=2)] == [2]
    entries = await newest(http)
    assert await newest(http, since=4e9) == []
    assert len(await newest(http, until=4e9)) == len(entries) == 3


async def test_pages_join_without_a_gap(http: httpx.AsyncClient) -> None:
    for _ in range(5):
        await http.get("/admin/versions")
    ids = [entry["id"] for entry in await newest(http, path="/admin/versions")]
    page_ids, before = [], None
    while True:
        params = {"limit": 2, "path": "/admin/versions"} | ({"before": before} if before else {})
        page = (await http.get("/admin/audit", params=params)).json()
        page_ids += [entry["id"] for entry in page["entries"]]
        before = page["next"]
        if before is None:
            break
    assert page_ids == ids


async def test_a_filter_that_cannot_be_is_refused(http: httpx.AsyncClient) -> None:
    filters: list[dict[str, Any]] = [
        {"limit": 0},
        {"before": "yesterday"},
        {"since": "soon"},
        {"refused": "x"},
    ]
    for params in filters:
        assert (await http.get("/admin/audit", params=params)).status_code == 422, params


async def test_questions_are_not_audited(http: httpx.AsyncClient) -> None:
    await http.post("/v1/answers", json={"question": "who?", "model": "toy"})
    assert await newest(http) == []


async def test_an_import_that_reports_its_progress_is_noted_when_it_has_ended(
    http: httpx.AsyncClient,
) -> None:
    headers = {"accept": "application/x-ndjson"}
    await http.post("/admin/graph/import?source=lakes.tsv", content=b"a\tb\tc\n", headers=headers)
    (entry,) = await newest(http)
    assert entry["summary"] == "a file: lakes.tsv"
    assert entry["code"] or entry["version"]


async def test_an_import_that_is_refused_after_its_progress_was_told_is_noted_as_refused(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def accept(*_: Any) -> Outcome:
        return Outcome.ok(b'{"import": "one"}')

    async def refuse(*_: Any) -> Outcome:
        return Outcome.of(GraphMoved("the graph was changed"), None)

    for step in ("import_begin", "import_feed", "import_progress"):
        monkeypatch.setattr(Editor, step, accept)
    monkeypatch.setattr(Editor, "import_finish", refuse)
    headers = {"accept": "application/x-ndjson"}
    reply = await http.post("/admin/graph/import", content=b"a\tb\tc\n", headers=headers)
    assert reply.status_code == 200
    (entry,) = await newest(http, refused=True)
    assert (entry["status"], entry["code"]) == (409, "graph_moved")


async def test_strangers_do_not_fill_the_audit(
    http: httpx.AsyncClient, app: FastAPI, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "STRANGER_RATE", "3/minute")
    for _ in range(20):
        await http.get("/admin/versions", headers={"authorization": "Bearer wrong"})
    assert raw.xlen(AUDIT) == 3
    await http.post("/admin/edits", json=edit("anna"))
    assert raw.xlen(AUDIT) == 4, "those who are known are noted always"


async def test_a_client_that_hangs_up_while_the_entry_is_written_is_in_the_audit_all_the_same(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, writing = Audit.append, asyncio.Event()

    async def append_slowly(stream: Audit, call: Call) -> None:
        writing.set()
        await asyncio.sleep(0.05)
        await append(stream, call)

    with monkeypatch.context() as patch:
        patch.setattr(Audit, "append", append_slowly)
        request = asyncio.create_task(http.get("/admin/versions"))
        await writing.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
    assert [entry["path"] for entry in await newest(http)] == ["/admin/versions"]
