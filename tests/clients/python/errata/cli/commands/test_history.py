"""`errata log`, `show` and `diff` read as git's do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from errata import wire
from errata.cli.render.commits import _describe_commit, draw_commit
from rich.console import Console

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


@pytest.fixture
def busy(run: Any) -> Any:
    run("edit", PERU, "Cusco", "--also", PERU_TOO, "-m", "try\nwith a reason")
    run("revert", "1")
    run("rollback", "--to", "1", "-m", "after all")
    return run


@pytest.mark.parametrize(
    ("first", "subject"),
    [
        ({"subject": "Peru", "relation": "capital", "object": "Cusco"}, "1 edit: Peru · capital · Cusco"),
        (
            {"subject": "Chile", "relation": "language", "object": "Spanish", "act": "remove"},
            "1 edit: Chile · language · Spanish  (taken away)",
        ),
        (
            {"subject": "a", "relation": "b", "object": "d", "act": "add", "before": "c"},
            "1 edit: a · b · d  (beside c)",
        ),
        ({"subject": "a", "relation": "b", "object": "c", "act": "add", "before": ""}, "1 edit: a · b · c"),
        ({"summary": "forbid\n(a)"}, "1 edit: forbid (a)"),
        ({"define": "capital", "holds": "one"}, "1 edit: capital holds one value"),
        ({"source": "lakes.tsv", "triples": 2}, "1 edit: import of lakes.tsv: 2 triples"),
        ({"subject": "a" * 99, "relation": "b", "object": "c"}, f"1 edit: {'a' * 47}…"),
    ],
)
def test_the_log_says_what_a_commit_is_about(first: dict[str, Any], subject: str) -> None:
    assert _describe_commit(summary("", first)) == subject


def summary(question: str, notes: dict[str, Any]) -> wire.VersionSummary:
    head = wire.EditHead(question=question, notes=notes)
    when = datetime(2026, 11, 21, tzinfo=UTC)
    return wire.VersionSummary(
        version=1, kind="edit", author="ana", time=when, message="", edits=1, first=head, checksums={}
    )


def test_a_report_of_an_older_form_is_shown_and_one_of_another_release_is_named(tiny: Any, run: Any) -> None:
    run("edit", PERU, "Cusco")
    commit = tiny.detail(1)
    older = {
        "broken_tests": [{"edit": "e0", "version": 3, "question": "q", "expected": "a", "actual": "b"}],
        "superseded_tests": [
            {"edit": "e0", "version": 3, "question": "r", "expected": "a", "actual": "b", "on_purpose": True}
            | {"by": "e1", "by_version": 4}
        ],
    }
    console = Console(width=120)
    with console.capture() as capture:
        console.print(draw_commit(commit.model_copy(update={"report": commit.report | older})))
        console.print(draw_commit(commit.model_copy(update={"report": {"effects": []}})))
    lines = [" ".join(line.split()) for line in capture.get().splitlines()]
    assert {"version 3 q a → b", "version 3 r a → b by version 4"} <= set(lines)
    assert lines[-1] == "What else it changed is noted in a form of another release, and not shown."


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("log",), wire.VersionLog),
        (("show",), wire.VersionDetail),
        (("show", "1"), wire.VersionDetail),
        (("diff", "0"), wire.Diff),
        (("diff", "0", "1"), wire.Diff),
    ],
)
def test_json_is_one_document_as_it_was_sent(busy: Any, words: tuple[str, ...], kind: Any) -> None:
    assert kind.model_validate_json(busy(*words, "--json").stdout)
