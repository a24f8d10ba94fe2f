"""Keys of callers, by routes and by commands."""

import json
import re
from typing import Any

import httpx

from tests.service.http.conftest import Run


async def make_key(http: httpx.AsyncClient, name: str, *scopes: str, **options: Any) -> str:
    reply = await http.post("/admin/keys", json={"name": name, "scopes": scopes, **options})
    assert reply.status_code == 201, reply.text
    key: str = reply.json()["key"]
    return key


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_a_key_is_told_once_and_listed_without_what_opens_it(http: httpx.AsyncClient) -> None:
    key = await make_key(http, "anna", "ask", "ask")
    reply = await http.get("/admin/keys")
    (key_state,) = reply.json()["keys"]
    assert (key_state["name"], key_state["scopes"], key_state["created_by"]) == ("anna", ["ask"], "admin")
    assert key not in reply.text
    assert "sha256" not in reply.text


async def test_rotating_leaves_no_gap_unless_that_is_wanted(http: httpx.AsyncClient) -> None:
    old = await make_key(http, "anna", "read")
    new = (await http.post("/admin/keys/anna/rotations", json={"keep_old_s": 60.0})).json()["key"]
    for key in (old, new):
        assert (await http.get("/admin/versions", headers=bearer(key))).status_code == 200
    last = (await http.post("/admin/keys/anna/rotations", json={"keep_old_s": 0})).json()["key"]
    statuses = [
        (await http.get("/admin/versions", headers=bearer(key))).status_code for key in (old, new, last)
    ]
    assert statuses == [401, 401, 200]


WRONG: list[dict[str, Any]] = [
    {"name": "anna", "scopes": ["everything"]},
    {"name": "", "scopes": ["ask"]},
    {"name": "an_na", "scopes": ["ask"]},
    {"name": "an na", "scopes": ["ask"]},
    {"name": "a" * 65, "scopes": ["ask"]},
    {"name": "anna", "scopes": ["ask"], "expires_in_s": 0},
]


async def test_a_key_that_cannot_be_is_refused_and_not_made(http: httpx.AsyncClient) -> None:
    for body in WRONG:
        reply = await http.post("/admin/keys", json=body)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_input"), body
    assert (await http.get("/admin/keys")).json()["keys"] == []


async def key_of(run: Run, *words: str) -> str:
    result = await run("keys", *words)
    assert result.exit_code == 0, result.output
    match = re.search(r"errata_\S+", result.stdout)
    assert match
    return match[0]


async def test_the_audit_reads_as_a_story_and_exports_whole(run: Run) -> None:
    key = await key_of(run, "create", "ben", "-s", "read")
    await run("log", key=key)
    await run("edit", "who?", "ben", "--model", "toy", key=key)
    await run("edit", "who?", "anna", "--model", "toy", "-m", "she told me")
    story = (await run("audit")).stdout
    assert re.search(r"ben +127\.0\.0\.1 +POST /admin/edits .*403 forbidden", story)
    assert re.search(r"admin .*'who\?' -> 'anna' \(she told me\) +version 1", story)
    assert "/admin/versions" not in (await run("audit", "--refused")).stdout
    page = (await run("audit", "--name", "ben", "--since", "2026-01-01", "-n", "1")).stdout
    older = r"Older ones: errata audit --limit 1 --name ben --since 2026-01-01T00:00:00 --before \d+-\d+"
    assert re.search(older, page)
    lines = [
        json.loads(line) for line in (await run("audit", "--export", "--name", "ben")).stdout.splitlines()
    ]
    assert [(line["path"], line["status"]) for line in lines] == [
        ("/admin/edits", 403),
        ("/admin/versions", 200),
    ]
