"""`errata keys` and `errata audit`, as an admin types them, against the application on a real socket."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from fastapi import FastAPI

from service.access.audit import audit
from tests.service.http.conftest import Run


async def key_of(run: Run, *words: str) -> str:
    result = await run("keys", *words)
    assert result.exit_code == 0, result.output
    match = re.search(r"errata_\S+", result.stdout)
    assert match
    return match[0]


async def test_a_key_is_made_used_rotated_and_revoked(run: Run) -> None:
    key = await key_of(run, "create", "anna", "-s", "read", "-s", "edit", "--expires-in", "90d")
    assert (await run("whoami", key=key)).exit_code == 0
    new = await key_of(run, "rotate", "anna", "--keep-old", "0")
    assert [(await run("whoami", key=secret)).exit_code for secret in (key, new)] == [1, 0]
    assert "opens nothing" in (await run("keys", "revoke", "anna")).stdout
    assert (await run("whoami", key=new)).exit_code == 1


async def test_the_list_says_how_each_key_stands(run: Run) -> None:
    assert "No key was issued yet" in (await run("keys", "list")).stdout
    for words in (("anna", "--expires-in", "90d"), ("ben",), ("carla",), ("dora", "--expires-in", "0.001s")):
        await key_of(run, "create", *words, "-s", "ask")
    await run("keys", "revoke", "carla")
    _, *lines = (await run("keys", "list")).stdout.splitlines()
    states = [re.split(r"\s{2,}", line.strip())[-1] for line in lines]
    assert states[0].startswith("in force until 20")
    assert states[1:] == ["in force", "revoked just now", "ended just now"]


WRONG = (
    (("create", "anna", "-s", "everything"), "'ask', 'read', 'edit' or 'admin'"),
    (("create", "an na", "-s", "ask"), "letters, digits"),
    (("create", "anna", "-s", "ask", "--expires-in", "soon"), "such as 90d"),
    (("create", "anna", "-s", "ask", "--expires-in", "90"), "such as 90d"),
    (("rotate", "nobody"), "no key named 'nobody'"),
    (("revoke", "nobody"), "errata keys list"),
    (("rotate", "admin"), "ERRATA_ADMIN_KEY"),
    (("create", "admin", "-s", "ask"), "a name of the service's own"),
)


async def test_what_cannot_be_is_refused_with_a_reason(run: Run) -> None:
    for words, reason in WRONG:
        result = await run("keys", *words)
        assert result.exit_code in (1, 2), words
        assert reason in re.sub(r"[\s│]+", " ", result.output)


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


async def test_the_audit_shows_how_often_a_call_came_and_finds_what_stands_far_back(
    run: Run, app: FastAPI, stranger: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await key_of(run, "create", "ben", "--scope", "ask")
    for _ in range(20):
        await stranger.get("/admin/versions", headers={"authorization": "Bearer wrong"})
    await app.state.access.audit.aclose()
    story = (await run("audit", "--refused")).stdout
    assert sum(int(count) for count in re.findall(r"(\d+) times", story)) in (19, 20)
    monkeypatch.setattr(audit, "MAX_SCANNED", 1)
    assert "a key for ben" in (await run("audit", "--path", "/admin/keys")).stdout
    assert "No call" in (await run("audit", "--name", "nobody")).stdout
