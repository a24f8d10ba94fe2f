"""`errata log`, `show` and `why` against the whole application: found by text, by author and by an edit's id."""

from __future__ import annotations

import re

from tests.service.editing.requests import FRANCE, PERU
from tests.service.http.conftest import Run


async def test_the_log_is_searched_by_text_and_by_author(run: Run) -> None:
    await run("edit", PERU, "Cusco", "--model", "toy", "-m", "Ticket 12")
    await run("edit", FRANCE, "Lyon", "--model", "toy")
    for word, versions in (("ticket", ["1"]), ("lyon", ["2"]), ("capital", ["2", "1"]), ("nowhere", [])):
        lines = (await run("log", "--grep", word)).output.splitlines()
        assert re.findall(r"^ *(?:newest )?([12]) ", "\n".join(lines[1:]), re.MULTILINE) == versions
    assert "Ticket 12" not in (await run("log", "--author", "nobody")).output
    assert "Ticket 12" in (await run("log", "--since", "2026-01-01")).output
    assert "Ticket 12" not in (await run("log", "--since", "2999-01-01")).output


async def test_why_names_the_edit_that_answers(run: Run) -> None:
    await run("edit", PERU, "Cusco", "--model", "toy", "--option", "method=surgery", "-m", "Ticket 12")
    result = await run("why", PERU, "--model", "toy")
    assert result.stdout.startswith("Cusco  version 1")
    assert "without, by toy: Lima" in result.stdout
    assert "Ticket 12" in result.stdout
