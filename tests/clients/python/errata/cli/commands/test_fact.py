"""`errata fact` and `errata relation`: one triple for every system, and the result in each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata import wire

PARIS = [
    {"id": "wd:Q90", "label": "Paris", "description": "capital of France", "degree": 1200},
    {"id": "wd:Q830149", "label": "Paris", "description": "city in \x1b[2JTexas", "degree": 12},
]


def last_body(tiny: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(tiny.requests[-1][1])
    return body


def test_each_system_says_what_it_answered_and_answers(run: Any) -> None:
    result = run("fact", "Peru", "capital", "Cusco", "-m", "moved")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Version 1: 1 fact. Every replica has it.",
        "  Peru · capital · Cusco",
        "    ✓  kbert  What is the capital of Peru?  Lima → Cusco",
        "    ✓  nkb    What is the capital of Peru?  Lima → Cusco",
        "No other answer of the facts that Errata came with changed: 12,722 questions compared.",
        "Take it back: errata revert 1",
    ]


def test_a_relation_that_nobody_can_ask_for_changes_the_graph_alone(run: Any) -> None:
    text = run("fact", "Peru", "national animal", "vicuña", "--add").stdout
    assert "  Peru · national animal · vicuña\n" in text
    assert "✓  kbert  the graph says  nothing → vicuña" in text
    assert "  warning: no question for the relation 'national animal' is known\n" in text


@pytest.mark.parametrize("act", ["set", "add", "remove"])
def test_every_option_reaches_the_service(run: Any, tiny: Any, act: str) -> None:
    options = (f"--{act}", "--only", "graph", "-m", "m", "--expect", "0", "--dry-run", "--no-wait")
    assert run("fact", "Peru", "capital", "Cusco", *options, "--idempotency-key", "mine").exit_code == 0
    fact = {"subject": "Peru", "relation": "capital", "object": "Cusco", "act": act, "only": "graph"}
    assert last_body(tiny) == {
        "edits": [fact],
        "message": "m",
        "expected_version": 0,
        "dry_run": True,
        "wait": "none",
    }
    assert tiny.requests[-1][0].headers["idempotency-key"] == "mine"


def test_without_an_act_the_relation_decides(run: Any, tiny: Any) -> None:
    run("fact", "Peru", "capital", "Cusco")
    assert last_body(tiny)["edits"] == [{"subject": "Peru", "relation": "capital", "object": "Cusco"}]


def test_a_name_that_several_bear_lists_them(run: Any, trouble: Any) -> None:
    trouble(409, "ambiguous", candidates=PARIS)
    result = run("fact", "Paris", "country", "Italy")
    assert (result.exit_code, result.stdout) == (1, "")
    messages = [line.rstrip() for line in result.stderr.splitlines()]
    assert messages == [
        "error: trouble: ambiguous [ambiguous]",
        "id          name   facts  what it is",
        "wd:Q90      Paris  1,200  capital of France",
        "wd:Q830149  Paris     12  city in \\u001b[2JTexas",
        "hint: Say which one is meant: repeat it with an id in place of the name.",
    ]


def test_candidates_of_another_shape_leave_the_sentence(run: Any, trouble: Any) -> None:
    trouble(409, "ambiguous", candidates=[{"name": 7}])
    result = run("fact", "Paris", "country", "Italy", "--json")
    assert (result.exit_code, json.loads(result.stdout)["code"]) == (1, "ambiguous")
    assert "hint: Say which one" in result.stderr


def test_a_system_that_does_not_follow_and_wordings_that_do_are_told_apart(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.FactItem(subject="Peru", relation="capital", object="Cusco")], 0)
    graph, bank = plain.edits
    paraphrases = [
        wire.ParaphraseReport(question=f"wording {n}", before="Lima", after="Lima", follows=n > 0)
        for n in range(4)
    ]
    bank = bank.model_copy(update={"model": "nkb", "after": None, "holds": False, "paraphrases": paraphrases})
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"edits": [graph, bank]}))
    result = run("fact", "Peru", "capital", "Cusco")
    assert result.exit_code == 5
    text = result.stdout
    assert "✗  nkb    What is the capital of Peru?  Lima → not sure  (wanted: Cusco)" in text
    assert "✗  nkb    wording 0                     Lima → Lima" in text
    assert [line.split()[-2:] for line in text.splitlines() if "wording" in line][1:] == [
        ["wording", str(n)] for n in (1, 2, 3)
    ]


def test_a_fact_can_be_shown_and_taken_back(run: Any) -> None:
    run("fact", "Peru", "national animal", "vicuña")
    run("fact", "Peru", "capital", "Cusco")
    assert "What is the capital of Peru?" in run("show", "2").stdout
    assert "Version 3: version 2 is taken back." in run("revert", "2").stdout


def test_a_triple_without_a_question_stands_for_itself_in_the_log_and_when_it_is_taken_back(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("fact", "Peru", "national animal", "vicuña")
    (edit_report,) = tiny.report(
        [wire.FactItem(subject="Peru", relation="national animal", object="vicuña")], 0
    ).edits
    monkeypatch.setattr(
        tiny, "report_switched_edits", lambda: [edit_report.model_copy(update={"before": "x", "after": "y"})]
    )
    assert "  Peru · national animal · vicuña\n    ✓ x → y\n" in run("revert", "1").stdout
    state = wire.EditState(
        id="e", question="", answer="vicuña", method="triple", notes=edit_report.notes, active=True
    )
    detail = tiny.detail(1).model_copy(update={"edits": [state]})
    monkeypatch.setattr(tiny, "detail", lambda _: detail)
    assert "Peru · national animal · vicuña  e triple\n" in run("show", "1", "-v").stdout


def test_an_import_is_told_in_the_log_and_when_it_is_taken_back(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("fact", "Peru", "national animal", "vicuña")
    notes = {"triples": 1234, "source": "peru.spo"}
    about: dict[str, Any] = {"id": "i", "question": "", "answer": "", "method": "triple", "notes": notes}
    state = wire.EditState(**about, active=True)
    detail = tiny.detail(1).model_copy(update={"edits": [state]})
    monkeypatch.setattr(tiny, "detail", lambda _: detail)
    assert "import of peru.spo: 1,234 triples  i\n\n" in run("show", "1").stdout
    edit_report = wire.EditReport(**about, before=None, after="", holds=True)
    monkeypatch.setattr(tiny, "report_switched_edits", lambda: [edit_report])
    assert "is taken back. Every replica has it.\n  import of peru.spo: 1,234 triples\nNo other" in (
        run("revert", "1").stdout
    )


def test_a_relation_is_defined(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = {"define": "capital", "holds": "one", "label": "capital city"}
    edit_report = wire.EditReport(
        id="e", question="", answer="", method="triple", before=None, after="", holds=True, notes=notes
    )
    plain = tiny.report([], 0)
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"edits": [edit_report]}))
    result = run("relation", "capital", "--holds", "one", "--label", "capital city", "-n")
    assert "Dry run: 1 definition would do this; nothing was changed." in result.stdout
    assert "  capital holds one value and is called capital city\n" in result.stdout
    definition = {"define": "capital", "holds": "one", "label": "capital city"}
    assert last_body(tiny) == {"edits": [definition], "dry_run": True}


@pytest.mark.parametrize(
    "words",
    [
        ("fact", "Peru", "capital"),
        ("fact", "Peru", "capital", "Cusco", "--add", "--remove"),
        ("fact", "Peru", "capital", "Cusco", "--only", "nkb"),
        ("fact", "", "capital", "Cusco"),
        ("fact", "Peru", "capital", " "),
        ("relation", "capital"),
        ("relation", "capital", "--holds", "two"),
        ("relation", "", "--holds", "one"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
    assert tiny.requests == []
