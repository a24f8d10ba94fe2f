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


def test_a_system_that_does_not_follow_and_wordings_that_do_are_told_apart(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.FactItem(subject="Peru", relation="capital", object="Cusco")], 0)
    graph, bank = plain.edits
    paraphrases = [
        wire.Outcome(question=f"wording {n}", before="Lima", after="Lima", follows=n > 0) for n in range(4)
    ]
    bank = bank.model_copy(update={"model": "nkb", "after": None, "holds": False, "paraphrases": paraphrases})
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"edits": [graph, bank]}))
    result = run("fact", "Peru", "capital", "Cusco")
    assert result.exit_code == 5
    text = result.stdout
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "✗ nkb What is the capital of Peru? Lima → not sure (wanted: Cusco)" in rows
    assert rows[-3:] == [
        "✗ nkb wording 0 stays Lima",
        "tried, follows wording 1",
        "tried, follows wording 2 and 1 more",
    ]


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
