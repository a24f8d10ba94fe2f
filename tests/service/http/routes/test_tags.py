"""Names for versions: given, moved, taken away, and understood wherever a command takes a version."""

from __future__ import annotations

import re

import pytest

from tests.service.http.conftest import KEY, Run

PERU = "What is the capital of Peru?"


async def run_ok(run: Run, *words: str, key: str = KEY) -> str:
    result = await run(*words, key=key)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
async def run_edited(run: Run) -> Run:
    """Make Cusco at version 1, Puno at version 2."""
    for answer in ("Cusco", "Puno"):
        await run_ok(run, "edit", PERU, answer, "--model", "toy")
    return run


async def test_a_name_stands_for_its_version_in_every_command(run_edited: Run) -> None:
    assert await run_ok(run_edited, "tag", "before", "1") == "before is version 1.\n"
    assert await run_ok(run_edited, "tag", "now") == "now is version 2.\n"
    assert await run_ok(run_edited, "ask", PERU, "--model", "toy", "--at", "before") == "Cusco\n"
    assert (await run_ok(run_edited, "show", "before")).startswith("version 1\n")
    assert await run_ok(run_edited, "diff", "before", "now") == await run_ok(run_edited, "diff", "1", "2")
    await run_ok(run_edited, "rollback", "--to", "before")
    assert await run_ok(run_edited, "ask", PERU, "--model", "toy") == "Cusco\n"


async def test_names_are_listed_moved_and_taken_away(run_edited: Run) -> None:
    assert "No version has a name" in await run_ok(run_edited, "tags")
    await run_ok(run_edited, "tag", "release", "1")
    await run_ok(run_edited, "tag", "base", "0")
    lines = [re.split(r"\s{2,}", line.strip()) for line in (await run_ok(run_edited, "tags")).splitlines()]
    assert lines == [
        ["tag", "version", "when", "who"],
        ["release", "1", "just now", "admin"],
        ["base", "0", "just now", "admin"],
    ]
    await run_ok(run_edited, "tag", "deadbeefcafe", "1")
    assert "version 1" in await run_ok(run_edited, "show", "deadbeefcafe")
    await run_ok(run_edited, "untag", "deadbeefcafe")
    await run_ok(run_edited, "tag", "release", "2")
    assert "it was version 2" in await run_ok(run_edited, "untag", "release")
    assert "release" not in await run_ok(run_edited, "tags")


WRONG = (
    (("tag", "later", "9"), "there is no version 9: the newest is 2"),
    (("tag", "42", "1"), "begins with a letter"),
    (("tag", "a b", "1"), "letters, digits"),
    (("untag", "nothing"), "no tag 'nothing'"),
    (("show", "nothing"), "'nothing' is no version and no tag"),
    (("rollback", "--to", "nothing"), "'nothing' is no version and no tag"),
    (("diff", "nothing"), "`errata tags`"),
    (("ask", PERU, "--at", "nothing"), "no tag"),
)


async def test_what_is_no_name_and_no_version_is_refused_with_a_reason(run_edited: Run) -> None:
    for words, reason in WRONG:
        result = await run_edited(*words)
        assert result.exit_code in (1, 2), words
        assert reason in re.sub(r"[\s│]+", " ", result.output)
    assert "No version has a name" in await run_ok(run_edited, "tags")
