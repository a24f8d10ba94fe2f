"""`errata revert` and `errata rollback` feel like git's: name what to undo, get a new version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata import wire

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


@pytest.mark.parametrize("words", [("revert", "1"), ("rollback", "--to", "0")])
def test_json_is_the_receipt_and_replicas_need_not_be_waited_for(
    run: Any, tiny: Any, words: tuple[str, ...]
) -> None:
    run("edit", PERU, "Cusco")
    result = run(*words, "--json", "--no-wait")
    assert wire.EditReceipt.model_validate_json(result.stdout).version == 2
    assert json.loads(tiny.requests[-1][1])["wait"] == "none"


@pytest.mark.parametrize(
    "words",
    [
        ("revert",),
        ("revert", "0"),
        ("revert", "one"),
        ("rollback",),
        ("rollback", "--to", "-1"),
        ("rollback", "0", "--to", "0"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
    assert tiny.requests == []


def test_several_are_taken_back_newest_first_and_one_that_is_already_stops_nobody(
    run: Any, tiny: Any
) -> None:
    for answer in ("Cusco", "Puno", "Arequipa"):
        run("edit", PERU, answer)
    run("revert", "2")
    result = run("revert", "1", "2-3", "--json")
    assert [json.loads(line)["version"] for line in result.stdout.splitlines()] == [5, 6]
    assert result.stderr == "Version 2: version 2 is taken back already.\n"
    assert (result.exit_code, tiny.active[-1]) == (0, frozenset())
