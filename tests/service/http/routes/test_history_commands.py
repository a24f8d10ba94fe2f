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


async def test_an_edit_is_shown_by_its_id(run: Run) -> None:
    output = (await run("edit", PERU, "Cusco", "--model", "toy", "-m", "Ticket 12", "--json")).stdout
    (edit,) = set(re.findall(r'"id": ?"([0-9a-f]{12})"', output))
    result = await run("show", edit)
    assert f"edit {edit}  version 1" in result.stdout
    assert all(part in result.stdout for part in (PERU, "Cusco", "Ticket 12"))
    assert "there is no edit" in (await run("show", "0123456789ab")).output


async def test_why_names_the_edit_that_answers(run: Run) -> None:
    await run("edit", PERU, "Cusco", "--model", "toy", "--option", "method=surgery", "-m", "Ticket 12")
    result = await run("why", PERU, "--model", "toy")
    assert result.stdout.startswith("Cusco  version 1")
    assert "without, by toy: Lima" in result.stdout
    assert "Ticket 12" in result.stdout


async def test_why_tells_how_it_was_at_a_version(run: Run) -> None:
    for answer in ("Cusco", "Puno"):
        await run("edit", PERU, answer, "--model", "toy", "--option", "method=surgery")
    for version, answer in enumerate(("Lima", "Cusco", "Puno")):
        result = await run("why", PERU, "--model", "toy", "--at", str(version))
        assert result.stdout.startswith(f"{answer}  version {version}")
    await run("tag", "launch", "1")
    assert (await run("why", PERU, "--model", "toy", "--at", "launch")).stdout.startswith("Cusco  version 1")
    assert "there is no version 7" in (await run("why", PERU, "--model", "toy", "--at", "7")).output
