"""`errata scope`: which edit a question asks for."""

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
