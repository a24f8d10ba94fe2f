"""Sentences of the service name fields of a request, which the command shows as its own flags."""

from __future__ import annotations

import io

import pytest
from errata import errors
from errata.cli.errors import complain
from errata.cli.key import Key
from errata.cli.render.receipt import summarize_warnings
from errata.wire import Problem
from rich.console import Console


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("say `set` or `add`", "say --set or --add"),
        ("name version 3 in `replaces`, or 'who?' in `counterexamples`", "in --replaces, or 'who?' in --not"),
        ("give `question`", "give `question`"),
    ],
)
def test_a_field_is_called_by_its_flag(sentence: str, words: str) -> None:
    assert words in summarize_warnings([("", sentence)])[0].plain
    err = io.StringIO()
    problem = Problem(status=409, code="add_or_set", title="Added?", type="about:blank", detail=sentence)
    error = errors.AddOrSet(problem)
    complain(error, Console(file=err, width=200), Key(None, ""))
    assert words in err.getvalue()
    assert "hint: `errata relation NAME --holds one`" in err.getvalue()
