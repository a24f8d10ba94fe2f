"""`errata revert` and `errata rollback` tried out against the whole application."""

from __future__ import annotations

from tests.service.editing.requests import PERU
from tests.service.http.conftest import Run


async def test_a_dry_run_shows_what_would_come_back(run: Run) -> None:
    await run("edit", PERU, "Cusco", "--model", "toy")
    for words, act in (
        (["revert", "1"], "taking back version 1"),
        (["rollback", "0"], "going back to version 0"),
    ):
        result = await run(*words, "--dry-run")
        headline, question, change = result.output.splitlines()[:3]
        assert headline == f"Dry run: {act} would do this; nothing was changed."
        assert (question.strip(), change.strip()) == (PERU, "✓ Cusco → Lima")
    assert "Version 2: version 1 is taken back." in (await run("revert", "1")).output
