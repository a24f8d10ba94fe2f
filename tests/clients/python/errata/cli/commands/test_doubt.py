"""A change in doubt: a script can notice it, and a person can repeat it so that it is made once."""

from __future__ import annotations

from typing import Any

import pytest

PERU = "What is the capital of Peru?"
CHANGES = [("edit", PERU, "Cusco"), ("revert", "1"), ("rollback", "--to", "0")]


@pytest.mark.parametrize("words", CHANGES, ids=lambda words: str(words[0]))
def test_it_has_an_exit_code_of_its_own_and_the_hint_is_true(
    run: Any, tiny: Any, trouble: Any, words: tuple[str, ...]
) -> None:
    run("edit", PERU, "Puno")
    trouble(503, "not_ready", times=3)
    failed = run(*words)
    assert failed.exit_code == 7
    assert "the change may have been made" in failed.stderr
    hint = failed.stderr.partition("hint: Repeat it with ")[2]
    option, key, *_ = hint.split()
    assert run(*words, option, key.rstrip(":")).exit_code == 0
    assert {request.headers["idempotency-key"] for request, _ in tiny.requests[1:]} == {key.rstrip(":")}


def test_a_question_that_nobody_answered_leaves_no_doubt(run: Any, trouble: Any) -> None:
    trouble(503, "not_ready", times=3)
    assert run("ask", PERU).exit_code == 1
