"""`errata revert` and `errata rollback` feel like git's: name what to undo, get a new version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata import wire

PERU = "What is the capital of Peru?"


def test_a_commit_is_taken_back_by_its_number(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    run("edit", "What is the capital of Chile?", "Arica")
    result = run("revert", "1", "-m", "oops")
    assert result.stdout.startswith("Version 3: version 1 is taken back. Both replicas have it.\n")
    assert result.stdout.endswith("Take it back: errata revert 3\n")
    assert tiny.commits[-1]["message"] == "oops"
    assert tiny.state(3) == {**tiny.state(0), "What is the capital of Chile?": "Arica"}


def test_everything_is_rolled_back_to_the_base(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    result = run("rollback", "--to", "0")
    assert result.stdout.startswith("Version 2: everything is as at version 0. Both replicas have it.\n")
    assert tiny.state(2) == tiny.state(0)


def test_what_is_taken_back_already_stays_as_it_is(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    run("revert", "1")
    result = run("revert", "1")
    assert (result.exit_code, tiny.head) == (1, 2)
    assert result.stderr == "error: version 1 is taken back already [nothing_to_do]\n"


@pytest.mark.parametrize("words", [("revert", "1"), ("rollback", "--to", "0")])
def test_json_is_the_receipt_and_replicas_need_not_be_waited_for(
    run: Any, tiny: Any, words: tuple[str, ...]
) -> None:
    run("edit", PERU, "Cusco")
    result = run(*words, "--json", "--no-wait")
    assert wire.EditReceipt.model_validate_json(result.stdout).version == 2
    assert json.loads(tiny.seen[-1][1])["wait"] == "none"


@pytest.mark.parametrize(
    "words",
    [
        ("revert",),
        ("revert", "0"),
        ("revert", "one"),
        ("rollback",),
        ("rollback", "--to", "-1"),
        ("rollback", "0"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
    assert tiny.seen == []
