"""The service needs exactly the rights of deploy/redis/users.acl, and they do not suffice to destroy the ledger.

The ledger's own tests run as this user as well.
"""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from fastapi import FastAPI

from service.access.api_keys import fingerprint
from service.backup.backup import Backup
from service.config import Settings
from service.editing.editor import Editor
from service.errors import LedgerCorrupt
from service.ledger import keys
from service.ledger.store import RedisLedger
from tests.deploy.valkeys import REDIS, AclValkey, start_acl_valkey
from tests.service.http.conftest import KEY, serve
from tests.service.ledger.test_store import *  # noqa: F403
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS

CAPITAL = "What is the capital of Peru?"
FRANCE = "What is the capital of France?"
WINDOW_S = 1.1  # longer than the time limit below
NO_RIGHT = "(?i)no permission"
ALWAYS = {"hello", "auth"}  # commands that no ACL can forbid
FILE = {"content-type": "text/tab-separated-values"}


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AclValkey]:
    with start_acl_valkey(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest.fixture
def raw(valkey: AclValkey) -> Iterator[redis.Redis]:
    with valkey.operator() as client:
        client.flushall()
        client.script_flush()
        client.config_resetstat()
        client.acl_log_reset()
        yield client


@pytest.fixture
async def ledger(valkey: AclValkey, raw: redis.Redis) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(valkey.url)
    yield ledger
    await ledger.aclose()


@pytest.fixture
def service_settings(valkey: AclValkey, raw: redis.Redis, tmp_path: Path) -> Settings:
    """Return settings with which others can connect, so that callers are counted."""
    options: dict[str, Any] = {
        "systems": TOYS,
        "snapshot_every": 1,
        "host": "0.0.0.0",
        "rate_per_key": "500/second",
        "gaps_days": 1,
    }
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), **options)


@pytest.fixture
async def app(service_settings: Settings) -> AsyncIterator[FastAPI]:
    async with start_deployment(Editor, service_settings) as editor, serve(service_settings, editor) as app:
        yield app


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {KEY}"}
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


async def use_everything(http: httpx.AsyncClient, ledger: RedisLedger) -> None:
    """Use every feature that touches Redis, as callers do."""
    await ledger.check()
    for number in range(12):  # enough commits that manifests are thinned
        body = {"edits": [{"question": CAPITAL, "answer": f"City {number}", "model": "toy"}], "measure": True}
        reply = await http.post("/admin/edits", json=body, headers={"idempotency-key": f"key-{number}"})
        assert (reply.status_code, reply.json()["all_applied"]) == (201, True), reply.text
        question = {"question": CAPITAL, "model": "toy", "min_version": number + 1}
        assert (await http.post("/v1/answers", json=question)).json()["answer"] == f"City {number}"
    again = await http.post("/admin/edits", json=body, headers={"idempotency-key": "key-11"})
    assert again.json()["version"] == 12
    assert (await http.post("/admin/reverts", json={"version": 12})).status_code == 201
    assert (await http.post("/admin/rollbacks", json={"to": 3})).status_code == 201
    for request in (http.put("/admin/tags/here", json={"version": 3}), http.delete("/admin/tags/here")):
        assert (await request).status_code == 200
    await import_files(http)
    question = {"question": "What is the capital of Oz?", "model": "atlas", "min_version": 15}
    assert (await http.post("/v1/answers", json=question)).json()["answer"] == "Emerald City"
    for answer in ("Lyon", "Nice"):
        item = {"question": FRANCE, "answer": answer, "model": "toy"}
        reply = await http.post("/admin/edits", json={"edits": [item], "method": "surgery"})
        assert reply.status_code == 201, reply.text
    assert (await http.post("/admin/checks")).status_code == 200
    commit = (await http.get("/admin/versions/1", params={"wait_report": True})).json()
    assert commit["report"]["report_state"] == "done"
    proposal = {"edits": [{"question": FRANCE, "answer": "Metz", "model": "toy"}]}
    for _ in range(2):
        assert (await http.post("/admin/proposals", json=proposal)).status_code == 201
    assert (await http.post("/admin/proposals/1/rejection", json={})).json()["state"] == "rejected"
    edit = commit["edits"][0]["id"]
    for day in ("9000-01-01", None):
        reply = await http.put(f"/admin/edits/{edit}/review", json={"on": day})
        assert (reply.status_code, reply.json()["edit"]["review"]) == (200, day), reply.text
    await use_worklist(http)


async def use_worklist(http: httpx.AsyncClient) -> None:
    """Ask what is declined until the worklist has it, and take its line out."""
    for question in ("Who runs HR?", "Where is the depot?"):
        assert (await http.post("/v1/answers", json={"question": question, "model": "toy"})).json()[
            "answer"
        ] is None
    async with asyncio.timeout(60):
        while not (gaps := (await http.get("/admin/gaps")).json()["gaps"]):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert (await http.post("/admin/gap-checks")).json()["count"] == 2
    assert (await http.delete(f"/admin/gaps/{gaps[0]['line']}")).status_code == 200


async def import_files(http: httpx.AsyncClient) -> None:
    """Import a file that becomes a commit, and one that is cancelled before."""
    oz = b"Oz\tcapital\tEmerald City\nEv\tcapital\tEvna\n"
    dry = await http.post("/admin/graph/import", params={"dry_run": True}, content=oz, headers=FILE)
    assert dry.status_code == 200, dry.text
    reply = await http.post("/admin/graph/import", content=oz, headers=FILE)
    assert reply.status_code == 201, reply.text


async def test_a_backup_goes_out_and_in_with_these_rights(
    app: FastAPI, http: httpx.AsyncClient, ledger: RedisLedger, raw: redis.Redis
) -> None:
    edit = {"edits": [{"question": CAPITAL, "answer": "Cusco", "model": "toy"}]}
    assert (await http.post("/admin/edits", json=edit)).status_code == 201
    assert (await http.post("/admin/keys", json={"name": "anna", "scopes": ["ask"]})).status_code == 201
    await import_files(http)
    whole = (await http.get("/admin/export")).content
    raw.flushall()
    receipt = await Backup(ledger, app.state.access.keys, app.state.access.audit).restore(
        io.BytesIO(whole), {}
    )
    assert (receipt.version, receipt.commits, receipt.keys) == (2, 2, 1)
    assert raw.xlen("{errata}:audit:restored") == receipt.audit > 0


async def test_the_service_uses_what_it_may_and_may_what_it_uses(
    http: httpx.AsyncClient, ledger: RedisLedger, raw: redis.Redis
) -> None:
    row = {"number": 900, "author": "ben", "time": 1.0, "expires": 2.0, "message": "", "edits": []}
    raw.hset("{errata}:proposals:rows", "900", json.dumps(row))  # as an older build left it, long ended
    await use_everything(http, ledger)
    raw.delete(keys.manifest(15))
    with pytest.raises(LedgerCorrupt):  # a missing manifest is looked for twice
        await ledger.nearest_manifest(15)
    for _ in range(6):  # some calls in one window, and some in the next
        assert (await http.get("/admin/versions")).status_code == 200
        await asyncio.sleep(WINDOW_S / 3)
    errata = next(line for line in (REDIS / "users.acl").read_text().splitlines() if "user errata " in line)
    allowed = set(re.findall(r"\+([\w|]+)", errata))
    commands = {name.removeprefix("cmdstat_"): fact for name, fact in raw.info("commandstats").items()}
    refused = {name for name, fact in commands.items() if fact["rejected_calls"]}
    assert refused <= {"config|get"}, "the start-up check asks how the server persists, and goes on without"
    by_others = {"flushall", "script|flush", "config|resetstat", "acl|log", "ping"}
    assert commands.keys() - refused - by_others - ALWAYS == allowed


REFUSED: list[tuple[str, ...]] = [
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("CONFIG", "GET", "*"),
    ("CONFIG", "SET", "appendonly", "no"),
    ("DEL", keys.LOG),
    ("UNLINK", keys.LOG),
    ("SET", keys.LOG, "nothing"),
    ("XDEL", keys.LOG, "1-0"),
    ("XTRIM", keys.LOG, "MAXLEN", "0"),
    ("RENAME", keys.LOG, "{errata}:check:x"),
    ("RENAME", keys.LOG, "{errata}:limit:x"),
    ("EXPIRE", keys.LOG, "1"),
    ("EVAL", "return redis.call('DEL', KEYS[1])", "1", keys.LOG),
    ("EVAL", "return redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)", "1", keys.LOG),
    ("DEL", keys.block("sha256:00")),
    ("DEL", "{errata}:audit"),
    ("XTRIM", "{errata}:audit", "MAXLEN", "0"),
    ("HDEL", "{errata}:keys", "ann"),
    ("SET", "elsewhere", "1"),
    ("GET", "elsewhere"),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("MONITOR",),
    ("SHUTDOWN",),
    ("REPLICAOF", "NO", "ONE"),
    ("MODULE", "LIST"),
    ("ACL", "LIST"),
    ("ACL", "SETUSER", "errata", "+@all"),
    ("SCRIPT", "FLUSH"),
    ("FUNCTION", "FLUSH"),
    ("CLIENT", "LIST"),
    ("PUBLISH", "channel", "word"),
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
async def test_whoever_has_the_services_password_cannot_destroy_the_ledger(
    valkey: AclValkey, raw: redis.Redis, words: tuple[str, ...]
) -> None:
    raw.xadd(keys.LOG, {"commit": "{}"}, id="1-0")
    with redis.Redis.from_url(valkey.url) as service, pytest.raises(redis.ResponseError, match=NO_RIGHT):
        service.execute_command(*words)
    assert raw.xlen(keys.LOG) == 1


def test_no_password_is_on_a_command_line_or_readable_by_others(valkey: AclValkey) -> None:
    command_line = Path(f"/proc/{valkey.pid}/cmdline").read_text()
    assert "valkey-server" in command_line
    assert "the-password-of" not in command_line
    assert (valkey.folder / "users.acl").stat().st_mode & 0o077 == 0
