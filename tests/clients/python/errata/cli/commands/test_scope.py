"""`errata scope` and `why`: which edit a question asks for, and who made it."""

from __future__ import annotations

import json
from typing import Any

PERU = "What is the capital of Peru?"


def test_scope_lists_what_is_near_with_its_verdict(run: Any) -> None:
    run("edit", PERU, "Cusco", "-m", "ticket 12")
    result = run("scope", PERU)
    assert "answers it" in result.stdout
    assert "An edit answers it." in result.stdout
    assert "the base answers" in run("scope", "Who wrote Hamlet?").stdout
    assert json.loads(run("scope", PERU, "--json").stdout)["edit"] == "e1"


def test_why_tells_who_made_the_edit_and_with_which_message(run: Any) -> None:
    run("edit", PERU, "Cusco", "-m", "ticket 12")
    result = run("why", PERU)
    assert result.stdout.startswith("Cusco  version 1")
    assert all(part in result.stdout for part in ("e1  version 1", "curator", "ticket 12", "matched"))
    assert result.stdout.splitlines()[-1] == "without, by nkb: Lima  by no edit"
    assert json.loads(run("why", PERU, "--json").stdout)["causes"][0]["edit"]["answer"] == "Cusco"
