"""Names for versions: given, moved, taken away, and understood wherever a command takes a version."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from fastapi import FastAPI

from tests.service.http.conftest import KEY, Run

PERU = "What is the capital of Peru?"


async def done(run: Run, *words: str, key: str = KEY) -> str:
    result = await run(*words, key=key)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
async def corrected(run: Run) -> Run:
    """Cusco at version 1, Puno at version 2."""
    for answer in ("Cusco", "Puno"):
        await done(run, "edit", PERU, answer, "--model", "toy")
    return run


async def test_a_name_stands_for_its_version_in_every_command(corrected: Run) -> None:
    assert await done(corrected, "tag", "before", "1") == "before is version 1.\n"
    assert await done(corrected, "tag", "now") == "now is version 2.\n"
    assert await done(corrected, "ask", PERU, "--model", "toy", "--at", "before") == "Cusco\n"
    assert (await done(corrected, "show", "before")).startswith("version 1\n")
    assert await done(corrected, "diff", "before", "now") == await done(corrected, "diff", "1", "2")
    await done(corrected, "rollback", "--to", "before")
    assert await done(corrected, "ask", PERU, "--model", "toy") == "Cusco\n"


async def test_names_are_listed_moved_and_taken_away(corrected: Run) -> None:
    assert "No version has a name" in await done(corrected, "tags")
    await done(corrected, "tag", "release", "1")
    await done(corrected, "tag", "base", "0")
    lines = [re.split(r"\s{2,}", line.strip()) for line in (await done(corrected, "tags")).splitlines()]
    assert lines == [
        ["tag", "version", "when", "who"],
        ["release", "1", "just now", "admin"],
        ["base", "0", "just now", "admin"],
    ]
    await done(corrected, "tag", "release", "2")
    assert "it was version 2" in await done(corrected, "untag", "release")
    assert "release" not in await done(corrected, "tags")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tag", "later", "9"), "there is no version 9: the newest is 2"),
        (("tag", "42", "1"), "begins with a letter"),
        (("tag", "a b", "1"), "letters, digits"),
        (("untag", "nothing"), "no tag 'nothing'"),
        (("show", "nothing"), "'nothing' is no version and no tag"),
        (("rollback", "--to", "nothing"), "'nothing' is no version and no tag"),
        (("diff", "nothing"), "`errata tags`"),
        (("ask", PERU, "--at", "nothing"), "no tag"),
    ],
)
async def test_what_is_no_name_and_no_version_is_said_so(
    corrected: Run, words: tuple[str, ...], said: str
) -> None:
    result = await corrected(*words)
    assert result.exit_code in (1, 2)
    assert said in re.sub(r"[\s│]+", " ", result.output)
    assert "No version has a name" in await done(corrected, "tags")


async def test_who_gave_a_name_is_kept_and_audited(
    corrected: Run, app: FastAPI, http: httpx.AsyncClient
) -> None:
    _, key = await app.state.access.keys.issue("anna", ("read", "edit"), None, "admin")
    await done(corrected, "tag", "hers", "1", key=key)
    (one,) = (await http.get("/admin/tags")).json()["tags"]
    assert (one["name"], one["version"], one["by"]) == ("hers", 1, "anna")
    noted = json.loads((await done(corrected, "audit", "--export", "--name", "anna")).splitlines()[0])
    assert (noted["method"], noted["path"], noted["summary"]) == ("PUT", "/admin/tags/hers", "version 1")
