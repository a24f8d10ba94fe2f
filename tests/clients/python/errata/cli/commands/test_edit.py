"""`errata edit`: the receipt of a change, and a whole file as one commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from errata import wire
from errata.cli.commands.edit import parse_test

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


CSV_LINE = "question (or wording),answer[,also][,not][,model]"
HEADER = f"the first line names the columns, as in {CSV_LINE}, with commas, semicolons or tabs"
JSONL_LINE = '{"question": "...", "answer": "..."} with paraphrases, a list, and model if wanted'


def last_body(tiny: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(tiny.requests[-1][1])
    return body


def test_every_option_reaches_the_service(run: Any, tiny: Any) -> None:
    options = (
        "--message",
        "m",
        "--method",
        "surgery",
        "--model",
        "kbert",
        "--expect",
        "0",
        "--dry-run",
        "--strict",
        "--no-wait",
    )
    assert run("edit", "q", "a", "--also", "p1", "--also", "p2", *options).exit_code == 0
    edit = {"question": "q", "answer": "a", "paraphrases": ["p1", "p2"], "model": "kbert"}
    assert last_body(tiny) == {
        "edits": [edit],
        "message": "m",
        "method": "surgery",
        "expected_version": 0,
        "dry_run": True,
        "strict": True,
        "wait": "none",
    }


def test_what_went_wrong_besides_is_shown(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco", paraphrases=[PERU_TOO])], 0)
    edit = plain.edits[0]
    failing = edit.paraphrases[0].model_copy(update={"after": "Lima", "follows": False})
    report = plain.model_copy(
        update={
            "edits": [edit.model_copy(update={"paraphrases": [failing], "warnings": ["the margin is thin"]})],
            "side_effects": [wire.Outcome(question="Chile?", before="Santiago", after=None)],
            "broken_tests": [
                wire.Outcome(edit="e0", version=3, question="Bolivia?", before="Sucre", after="La Paz")
            ],
        }
    )
    monkeypatch.setattr(tiny, "report", lambda *_: report)
    result = run("edit", PERU, "Cusco")
    text = result.stdout
    assert result.exit_code == 5
    assert "✗  also  Peru's capital city?          stays Lima    (wanted: Cusco)" in text
    assert "  warning: the margin is thin\n" in text
    assert (
        "1 other answer of the facts that Errata came with changed too (12,722 questions compared):" in text
    )
    assert ["Chile?", "Santiago", "→", "not", "sure"] in [line.split() for line in text.splitlines()]
    assert text.splitlines()[1].endswith(
        "Besides: 1 other answer changed (12,722 questions compared), 1 earlier edit broken."
    )
    assert "Broken: 1 earlier edit, with another answer now:" in text
    assert [word for word in ("3", "Bolivia?", "Sucre", "La Paz") if word not in text] == []


def test_what_a_revert_puts_back_unasked_is_taken_back_by_a_revert(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("edit", PERU, "Cusco")
    plain = tiny.report([], 0)
    earlier = wire.Outcome(
        **{"edit": "e0", "version": 3, "question": "q", "before": "a", "after": "Cusco", "by": "e1"},
        **{"by_version": 4, "follows": False},
    )
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"superseded_tests": [earlier]}))
    lines = run("revert", "1").stdout.splitlines()
    assert (
        lines[5]
        == "If that is right, take back the earlier: errata revert 3; if not, take this version back."
    )


def test_examples_against_an_edit_and_whom_it_replaces_are_sent(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco", "--not", "mayor of Peru?", "--replaces", "3", "--replaces", "0123456789ab")
    (item,) = json.loads(tiny.requests[-1][1])["edits"]
    assert item["counterexamples"] == ["mayor of Peru?"]
    assert item["replaces"] == [3, "0123456789ab"]


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("Is Lima big?=yes", ("Is Lima big?", "yes")),
        ("Is Lima big?", ("Is Lima big?", None)),
        ("Is E=mc2 right?", ("Is E=mc2 right?", None)),
        ("Is E=mc2 right?=E=mc2", ("Is E=mc2 right?", "E=mc2")),
        ("capital of Peru=Lima", ("capital of Peru", "Lima")),
    ],
)
def test_a_sign_of_equality_within_a_question_is_a_part_of_it(
    text: str, test: tuple[str, str | None]
) -> None:
    assert parse_test(text) == test


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'question,answer,paraphrases\nq1,a1,p1 | p2\n"q,2",a2,\n'),
        ("a.CSV", '\ufeffanswer,question,paraphrases\r\na1,q1,p1|p2\r\na2,"q,2",\r\n'),
        (
            "a.jsonl",
            '{"question": "q1", "answer": "a1", "paraphrases": ["p1", "p2"]}\n\n'
            '{"question": "q,2", "answer": "a2"}\n',
        ),
    ],
)
def test_a_file_of_corrections_becomes_one_commit(
    run: Any, tiny: Any, folder: Path, name: str, content: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    result = run("edit", "--file", name, "-m", "all")
    assert result.stdout.startswith("Version 1: 2 edits. ")
    first = {"question": "q1", "answer": "a1", "paraphrases": ["p1", "p2"]}
    assert last_body(tiny) == {"edits": [first, {"question": "q,2", "answer": "a2"}], "message": "all"}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.txt", "q,a", "a.txt: the name must end in .csv, .tsv, .xlsx, .jsonl or .json"),
        ("a.csv", "", f"a.csv:1: there is no column 'question'; {HEADER}; it is not there"),
        (
            "a.csv",
            "frage,antwort\nq,a\n",
            f"a.csv:1: there is no column 'question'; {HEADER}; it is frage,antwort",
        ),
        (
            "a.csv",
            "question;answer,model\nq;a\n",
            f"a.csv:1: there is no column 'answer'; {HEADER}; it is question,answer,model",
        ),
        (
            "a.csv",
            "question,answer,answer\nq,a,b\n",
            f"a.csv:1: two columns name the 'answer'; {HEADER}; it is question,answer,answer",
        ),
        ("a.csv", '"question,answer\nq,a\n', "a.csv:1: this is not CSV: "),
        ("a.csv", "question,answer\n", f"a.csv holds no corrections; each is a line {CSV_LINE}"),
        ("a.csv", "question,answer\nq,a\nq,\n", f"a.csv:3: answer: is missing; expected {CSV_LINE}"),
        ("a.csv", 'question,answer\n\n"q\nq",a\nq\n', "a.csv:5: answer: is missing"),
        (
            "a.csv",
            "question,answer\nq,a,b\n",
            "a.csv:2: there are more cells than columns; a text with a comma",
        ),
        ("a.csv", 'question,answer\nq,a\n"q,a\nq,a\n', "a.csv:3: this is not CSV: unexpected end of data; "),
        ("a.csv", b"question,answer\nq,a\nq,\xff\n", "a.csv:3: this is not UTF-8; save the file as UTF-8"),
        (
            "a.jsonl",
            '{"question": "q", "answer": "a"}\n{"question": \n',
            f"a.jsonl:2: this is not JSON: Expecting value at column 13; expected {JSONL_LINE}",
        ),
        ("a.jsonl", "[1]", f"a.jsonl:1: this is not an object; expected {JSONL_LINE}"),
        (
            "a.jsonl",
            '{"question": "q", "answer": 7}',
            "a.jsonl:1: answer: has to be a text; exp",
        ),
        ("a.jsonl", '{"question": "q", "answer": "a", "modle": "x"}', "modle: is no field of this request"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_line_before_anything_is_sent(
    run: Any, tiny: Any, folder: Path, name: str, content: str | bytes, complaint: str
) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("edit", "--file", name)
    message = " ".join(result.stderr.replace("│", " ").split())
    assert (result.exit_code, result.stdout, tiny.requests) == (2, "", [])
    assert complaint in message


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("only a question",),
        ("q", "a", "--file", "a.csv"),
        ("--file", "absent.csv"),
        ("q", "a", "--method", ""),
        ("q", "a", "--expect", "newest"),
        ("q", "a", "surplus"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run("edit", *words).exit_code == 2
    assert tiny.requests == []
