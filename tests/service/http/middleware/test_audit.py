"""Every call of an admin route is in the audit, refused ones too: who, for what, from where, with what outcome."""

import asyncio
import json
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest
import redis
from fastapi import FastAPI

from service.access.api_keys import KeyStore
from service.access.audit.audit import Audit
from service.access.audit.calls import CHANGES, Call
from service.config import Settings
from service.editing.call import Call as EditorCall
from service.editing.editor import Editor
from service.editing.operations import FinishImport
from service.errors import GraphMoved, LedgerUnavailable
from service.http.app import build_app
from service.http.middleware import audit as audit_middleware
from service.outcome import Outcome
from tests.service.http.conftest import ADMIN, JSON, KEY, client_of, local_editor, local_router
from tests.service.parts import PATIENCE_S, sample


async def newest(http: httpx.AsyncClient, **filter: Any) -> list[dict[str, Any]]:
    """Return the newest calls, except those that read the audit."""
    reply = await http.get("/admin/audit", params={"limit": 100, **filter})
    assert reply.status_code == 200, reply.text
    return [entry for entry in reply.json()["entries"] if entry["path"] != "/admin/audit"]


def edit(answer: str) -> dict[str, Any]:
    return {"edits": [{"question": "who?", "answer": answer, "model": "toy"}], "message": "asked by Ben"}


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


async def test_a_key_of_somebody_elses_request_is_nobody_elses(http: httpx.AsyncClient) -> None:
    """Each makes a commit, and the audit names the author of each."""
    again = {"idempotency-key": "nightly-1"}
    for name, answer in (("ann", "Cusco"), ("ben", "Puno")):
        key = (await http.post("/admin/keys", json={"name": name, "scopes": ["edit"]})).json()["key"]
        headers = {"authorization": f"Bearer {key}", **again}
        assert (await http.post("/admin/edits", json=edit(answer), headers=headers)).status_code == 201
    edits = await newest(http, path="/admin/edits")
    assert [(entry["name"], entry["version"]) for entry in edits] == [("ben", 2), ("ann", 1)]


async def test_no_key_gets_into_the_audit(http: httpx.AsyncClient, raw: redis.Redis) -> None:
    key = (await http.post("/admin/keys", json={"name": "ben", "scopes": ["ask"]})).json()["key"]
    await http.get(f"/admin/versions?key={key}", headers={"authorization": f"Bearer {key}"})
    assert await newest(http, refused=True), "it is written"
    entries = json.dumps(
        [str(entry) for stream in raw.scan_iter(f"{CHANGES}*") for entry in raw.xrange(stream)]
    )
    assert "ben" in entries
    assert key not in entries
    assert KEY not in entries


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
    async def refuse(editor: Editor, call: EditorCall[Any]) -> Outcome:
        if isinstance(call, FinishImport):
            return Outcome.of(GraphMoved("the graph was changed"), None)
        return Outcome.ok(b'{"id": "one"}')

    monkeypatch.setattr(Editor, "call", refuse)
    headers = {"accept": "application/x-ndjson"}
    reply = await http.post("/admin/graph/import", content=b"a\tb\tc\n", headers=headers)
    assert reply.status_code == 200
    (entry,) = await newest(http, refused=True)
    assert (entry["status"], entry["code"]) == (409, "graph_moved")


async def test_refusals_alike_are_one_entry_with_a_count(
    http: httpx.AsyncClient, app: FastAPI, raw: redis.Redis
) -> None:
    for _ in range(20):
        await http.get("/admin/versions", headers={"authorization": "Bearer wrong"})
    await app.state.access.audit.aclose()
    entries = await newest(http, refused=True)
    assert sum(entry["count"] for entry in entries) == 20
    assert len(entries) <= 2
    assert raw.xlen(CHANGES) == 0
    await http.post("/admin/edits", json=edit("anna"))
    assert raw.xlen(CHANGES) == 1, "what was done is written before its answer leaves"


async def test_a_read_is_answered_before_it_is_written(
    http: httpx.AsyncClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = asyncio.Event()
    append = Audit.append

    async def append_late(stream: Audit, call: Call) -> None:
        await answers.wait()
        await append(stream, call)

    with monkeypatch.context() as patch:
        patch.setattr(app.state.access.audit._merger, "_append", partial(append_late, app.state.access.audit))
        async with asyncio.timeout(PATIENCE_S):
            assert (await http.get("/admin/versions")).status_code == 200
        answers.set()
    assert [entry["path"] for entry in await newest(http)] == ["/admin/versions"]


async def test_calls_of_no_route_count_for_their_address(config: Settings, editor: Editor) -> None:
    settings = config.model_copy(update={"rate_per_address": "3/minute"})
    app = build_app(settings, local_router({}), local_editor(editor))
    async with client_of(app) as client:
        statuses = [(await client.get(f"/admin/nowhere/{number}")).status_code for number in range(5)]
        assert statuses == [404, 404, 404, 429, 429]
        assert (await client.patch("/admin/versions")).status_code == 429
        assert (await client.get("/nowhere")).status_code == 404
    await app.state.access.aclose()


async def test_of_many_who_hang_up_on_a_slow_redis_none_is_missing_and_all_have_their_real_status(
    http: httpx.AsyncClient, app: FastAPI, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes a key; the audit has to tell of every key that was made, and with success.

    Redis is slow twice: to take a command, and to answer one that it has done. A change has a minute to end, so that
    none is given up on a slow machine.
    """
    monkeypatch.setattr(audit_middleware, "HANG_UP_S", PATIENCE_S)
    swap = KeyStore.swap

    async def swap_and_wait(*arguments: Any) -> bool:
        is_done = await swap(*arguments)
        await asyncio.sleep(0.02)
        return is_done

    monkeypatch.setattr(KeyStore, "swap", swap_and_wait)
    n_calls, n_lost = 600, sample("errata_audit_lost_total") or 0.0
    n_entered = 0
    transport = http._transport
    assert isinstance(transport, httpx.ASGITransport)

    async def count(scope: Any, receive: Any, send: Any) -> None:
        nonlocal n_entered
        n_entered += 1
        await app(scope, receive, send)

    async def hang_up(client: httpx.AsyncClient, number: int) -> None:
        body = {"name": f"key{number}", "scopes": ["ask"]}
        call = asyncio.create_task(client.post("/admin/keys", json=body))
        await asyncio.sleep(0.012 * (number % 50) / 50)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

    async with client_of(count) as client:  # type: ignore[arg-type]
        client.headers.update(ADMIN)
        for first in range(0, n_calls, 50):
            if first % 100:
                raw.execute_command("CLIENT", "PAUSE", 300, "ALL")
            await asyncio.gather(*(hang_up(client, number) for number in range(first, first + 50)))
    keys = (await http.get("/admin/keys")).json()["keys"]
    entries = [Call.model_validate_json(fields[b"entry"]) for _, fields in raw.xrange(CHANGES)]
    statuses = Counter(entry.status for entry in entries)
    assert n_entered > n_calls / 2
    assert len(entries) == n_entered
    assert statuses[201] == len(keys) > n_calls / 2
    assert (sample("errata_audit_lost_total") or 0.0) == n_lost


@pytest.mark.parametrize("error", [asyncio.CancelledError, LedgerUnavailable("away"), ValueError])
async def test_an_entry_that_cannot_be_written_is_counted_and_in_the_log(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Any
) -> None:
    async def fail(*_: Any) -> None:
        raise error

    n_lost = sample("errata_audit_lost_total") or 0.0
    monkeypatch.setattr(Audit, "append", fail)
    with suppress(asyncio.CancelledError):
        await http.post("/admin/keys", json={"name": "ann", "scopes": ["ask"]})
    assert (sample("errata_audit_lost_total") or 0.0) == n_lost + 1
    assert "a key for ann" in caplog.text
