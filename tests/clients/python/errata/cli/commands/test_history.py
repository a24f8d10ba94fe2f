"""`errata log`, `show` and `diff` read as git's do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from errata import wire
from errata.cli.render.commits import _describe_commit, draw_log
from errata.cli.render.text import age

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def busy(run: Any) -> Any:
    run("edit", PERU, "Cusco", "--also", PERU_TOO, "-m", "try\nwith a reason")
    run("revert", "1")
    run("rollback", "--to", "1", "-m", "after all")
    return run


def test_the_log_lists_the_newest_first_down_to_the_base(busy: Any) -> None:
    lines = [line.split() for line in busy("log").stdout.splitlines()]
    assert lines[0] == ["version", "when", "who", "what", "message"]
    assert [line[:2] for line in lines[1:]] == [["newest", "3"], ["2", ANY], ["1", ANY], ["0", "the"]]
    assert lines[1][-6:] == ["curator", "rollback", "to", "1", "after", "all"]
    assert lines[2][-3:] == ["revert", "of", "1"]
    assert lines[3][-9:] == ["1", "edit:", *PERU.split(), "try"]


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


def test_a_question_of_several_lines_is_one_in_the_log() -> None:
    assert "\n" not in _describe_commit(summary("What is\nthe capital?", {}))


def summary(question: str, notes: dict[str, Any]) -> wire.VersionSummary:
    head = wire.EditHead(question=question, notes=notes)
    when = datetime(2026, 11, 21, tzinfo=UTC)
    return wire.VersionSummary(
        version=1, kind="edit", author="ana", time=when, message="", edits=1, first=head, checksums={}
    )


def test_the_log_of_a_fresh_service_has_the_base_only(run: Any) -> None:
    assert rows(run("log").stdout)[1:] == [["0", "the", "base,", "before", "any", "edit"]]


@pytest.mark.parametrize("option", ["--author", "--grep"])
def test_a_log_in_which_no_commit_matches_says_so(
    busy: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(tiny, "summary", lambda version: summary("q", {}))
    assert "the base" not in busy("log", option, "curator").stdout
    assert draw_log(wire.VersionLog(versions=[], head=3), 20, is_filtered=True).plain == "No commit matches."  # type: ignore[attr-defined]


def test_edits_that_were_taken_back_by_their_ids_are_named() -> None:
    undo = {**summary("", {}).model_dump(), "kind": "revert", "edits": 0, "first": None}
    for ids, subject in ((["e1"], "revert of edit e1"), (["e1", "e2"], "revert of edit e1 and 1 more")):
        assert _describe_commit(wire.VersionSummary(**undo | {"target_edits": ids})) == subject


def test_a_diff_counts_the_triples_of_an_import(
    busy: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = {"edit": "e1", "subject": "lakes.tsv", "relation": "", "object": "2 triples", "act": "import"}
    plain = tiny.diff(0, 1)
    facts = [wire.FactChange(**fact, triples=2, change="added")]
    monkeypatch.setattr(tiny, "diff", lambda *_: plain.model_copy(update={"facts": facts}))
    assert busy("diff", "0", "1").stdout.splitlines()[-1].endswith(", 2 facts.")


def test_the_log_goes_on_where_it_stopped(busy: Any) -> None:
    first = busy("log", "-n", "2").stdout
    assert first.endswith("Older ones: errata log --limit 2 --before 2\n")
    assert "1 edit" in busy("log", "--before", "2").stdout
    page = busy("log", "-n", "1", "--grep", "try it", "--before", "3").stdout
    assert page.endswith("Older ones: errata log --limit 1 --grep 'try it' --before 2\n")
    assert "Older ones" not in busy("log", "-n", "3", "--grep", "try", "--before", "3").stdout


def test_a_commit_shows_who_when_why_and_what(busy: Any) -> None:
    date = datetime(2026, 11, 21, 9, tzinfo=UTC).astimezone()
    assert busy("show", "1", "-v").stdout.rstrip().splitlines() == [
        "version 1",
        "Author: curator",
        f"Date:   {date:%a %Y-%m-%d %H:%M:%S %z}",
        "",
        "    try",
        "    with a reason",
        "",
        "What is the capital of Peru?  e1 gated",
        "also Peru's capital city?",
        "- Lima",
        "+ Cusco",
        "",
        "No other answer of the facts that Errata came with changed: 12,722 questions compared.",
        "nkb/bank  1 block put, 0 removed  010101010101",
    ]
    assert "gated" not in busy("show", "1").stdout
    assert "block" not in busy("show", "1").stdout


def test_an_edit_that_was_taken_back_says_so(run: Any) -> None:
    run("edit", PERU, "Cusco")
    run("revert", "1")
    assert f"{PERU}  e1  (taken back)\n" in run("show", "1").stdout


def test_the_newest_commit_is_shown_when_none_is_named(busy: Any) -> None:
    assert busy("show").stdout.startswith("version 3 (rollback to 1)\n")
    assert busy("show", "2").stdout.startswith("version 2 (revert of 1)\n")


def test_a_difference_is_shown_question_by_question(busy: Any) -> None:
    text = busy("diff", "0", "1").stdout
    assert text == (
        "--- version 0\n"
        "+++ version 1\n"
        "What is the capital of Peru?  e1\n"
        "also Peru's capital city?\n"
        "- Lima\n"
        "+ Cusco\n"
        "2 changed answers.\n"
    )
    assert busy("diff", "0").stdout == text.replace("version 1", "version 3").replace("e1", "e3")


def test_a_difference_shows_what_changed_though_nobody_edited_it(
    busy: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.diff(0, 1)
    side_effects = [wire.SideEffect(question="Capital of Chile?", before="Santiago", after=None)]
    monkeypatch.setattr(
        tiny, "diff", lambda *_: plain.model_copy(update={"probes": 223, "side_effects": side_effects})
    )
    lines = [" ".join(line.split()) for line in busy("diff", "0", "1").stdout.splitlines()]
    assert lines[-3:-1] == [
        "1 other answer of the facts that Errata came with, and of edits, changed too (223 questions compared):",
        "Capital of Chile? Santiago → not sure",
    ]


def test_a_side_that_is_declined_is_drawn_and_one_that_nobody_asked_is_not(
    busy: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    declined = wire.Change(question="q1", before="Lima", after=None, edit="e1", change="removed")
    unknown = wire.Change(
        question="q2", before=None, after="Puno", is_measured=False, edit="e2", change="added"
    )
    plain = tiny.diff(0, 1)
    monkeypatch.setattr(tiny, "diff", lambda *_: plain.model_copy(update={"changes": [declined, unknown]}))
    lines = busy("diff", "0", "1").stdout.splitlines()[2:-1]
    assert lines == ["q1  e1", "- Lima", "+ not sure", "q2  e2", "+ Puno"]


def test_versions_that_are_the_same_are_said_to_be(busy: Any) -> None:
    assert busy("diff", "0", "2").stdout.endswith("The two versions are the same, bit for bit.\n")


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


def test_a_version_that_does_not_exist_is_named(run: Any) -> None:
    result = run("show", "99")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no version 99 [not_found]\nhint: ")


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=6, hours=23), "6 days ago"),
        (timedelta(days=7), "2026-11-14"),
    ],
)
def test_a_time_is_said_as_a_person_would(duration: timedelta, words: str) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert age(now - duration, now) == words


def test_what_only_one_version_was_told_about_the_graph_is_in_the_difference(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = {"subject": "Peru", "relation": "capital", "object": "Cusco", "act": "set", "edit": "e1"}
    load = {"subject": "peru.spo", "relation": "", "object": "1,234 triples", "act": "import", "edit": "i2"}
    plain = tiny.diff(0, 0).model_copy(update={"checksums_differ": {"graph/triples": True}})
    facts = [
        wire.FactChange.model_validate({**fact, "change": "added"}),
        wire.FactChange.model_validate({**load, "change": "removed"}),
    ]
    rule = {"edit": "r3", "memory": "rules/program", "kind": "rule", "summary": "forbid (a)"}
    rules = [wire.MemoryChange.model_validate({**rule, "change": "added"})]
    changes = {"facts": facts, "memory_changes": rules}
    monkeypatch.setattr(tiny, "diff", lambda *_: plain.model_copy(update=changes))
    text = run("diff", "0", "0", "-v").stdout
    facts = "the knowledge graph\n+ Peru · capital · Cusco  set  e1\n- peru.spo · 1,234 triples  import  i2\n"
    assert f"{facts}rules/program\n+ forbid (a)  rule  r3\n" in text
    assert "0 changed answers, 2 facts, 1 other change; rows differ in graph/triples." in text


def test_a_difference_says_whose_answer_changed(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("edit", "What is the capital of Peru?", "Cusco")
    plain = tiny.diff(0, 1)
    changes = [plain.changes[0].model_copy(update={"model": model}) for model in ("nkb", "kbert")]
    monkeypatch.setattr(tiny, "diff", lambda *_: plain.model_copy(update={"changes": changes}))
    lines = run("diff", "0", "1").stdout.splitlines()
    assert [line for line in lines if line.startswith("What")] == [
        "What is the capital of Peru?  e1 nkb",
        "What is the capital of Peru?  e1 kbert",
    ]
