"""`errata keys` and `errata audit`, as an admin types them, against the application on a real socket."""

from __future__ import annotations

import json
import re

from tests.service.http.conftest import Run


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
