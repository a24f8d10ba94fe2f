"""`errata ask`: the answer alone on stdout, everything else on stderr, exit code 4 without an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from errata import wire

PERU = "What is the capital of Peru?"


def test_a_script_gets_the_answer_and_nothing_else(run: Any) -> None:
    result = run("ask", PERU)
    assert (result.exit_code, result.stdout) == (0, "Lima\n")
    assert result.stderr == "version 0 · 97 % sure · by nkb · 14 ms\n"
    assert run("ask", PERU, "--model", "nkb").stderr == "version 0 · 97 % sure · 14 ms\n"


def test_an_edited_answer_names_its_edit_and_the_old_version_still_answers(run: Any) -> None:
    run("edit", PERU, "Cusco")
    result = run("ask", PERU)
    assert result.stdout == "Cusco\n"
    assert "version 1" in result.stderr
    assert "1 edit: e1" in result.stderr
    assert run("ask", "--at", "0", PERU).stdout == "Lima\n"


def test_the_only_other_answer_is_shown(run: Any) -> None:
    assert run("ask", PERU, "--top", "1").stdout == "Lima\n"
    lines = run("ask", PERU, "--top", "2").stdout.splitlines()
    assert [line.split() for line in lines] == [["Lima"], ["2", "%", "Cusco"]]


def test_json_is_what_the_service_sent(run: Any) -> None:
    result = run("ask", PERU, "--json")
    assert wire.Answer.model_validate_json(result.stdout).answer == "Lima"
    assert result.stderr == ""
    unsure = run("ask", "Who?", "--json")
    assert (unsure.exit_code, json.loads(unsure.stdout)["answer"]) == (4, None)


def test_every_option_reaches_the_service(run: Any, tiny: Any) -> None:
    run("ask", "q", "--at", "0", "--min-version", "0", "--model", "kbert", "--top", "2", "--explain")
    body = json.loads(tiny.requests[-1][1])
    assert body == {
        "question": "q",
        "version": 0,
        "min_version": 0,
        "model": "kbert",
        "top_k": 2,
        "explain": True,
    }


def test_what_to_choose_the_answer_from_reaches_the_service(run: Any, tiny: Any, folder: Path) -> None:
    (folder / "text.txt").write_text("\ufeffIt was Lima.\n", encoding="utf-8")
    run("ask", "q", "--kg", "none", "--context", "@text.txt", "--candidate", "Lima", "--candidate", "Cusco")
    body = json.loads(tiny.requests[-1][1])
    assert body == {
        "question": "q",
        "kg": "none",
        "context": ["It was Lima.\n"],
        "candidates": ["Lima", "Cusco"],
    }
    run("ask", "q", "--context", "It was Lima.", "--context", "It is Cusco.")
    assert json.loads(tiny.requests[-1][1])["context"] == ["It was Lima.", "It is Cusco."]


def test_how_a_text_is_drawn_reaches_the_service(run: Any, tiny: Any) -> None:
    options = [
        "--temperature",
        "0.7",
        "--top-p",
        "0.9",
        "--seed",
        "3",
        "--max-tokens",
        "8",
        "--stop",
        ".",
        "--stop",
        ";",
    ]
    run("ask", "q", *options)
    sampling = {"temperature": 0.7, "top_p": 0.9, "seed": 3, "max_tokens": 8, "stop": [".", ";"]}
    assert json.loads(tiny.requests[-1][1]) == {"question": "q", "sampling": sampling}
    run("ask", "q", "--temperature", "0")
    assert json.loads(tiny.requests[-1][1])["sampling"] == {}, "the likeliest tokens, by default"
    n_requests = len(tiny.requests)
    refused = [
        run("ask", "q", *words) for words in (["--top-p", "0"], ["--temperature", "3"], ["--seed", "x"])
    ]
    assert [result.exit_code for result in refused] == [2, 2, 2]
    assert "top_p" in refused[0].stderr
    assert len(tiny.requests) == n_requests


@pytest.mark.parametrize(
    ("context", "why"),
    [("@absent", "No such file or directory"), ("@.", "Is a directory"), ("@latin1.txt", "is not UTF-8")],
)
def test_a_context_that_cannot_be_read_is_named(
    run: Any, tiny: Any, folder: Path, context: str, why: str
) -> None:
    (folder / "latin1.txt").write_bytes(b"\xff\xfe\xfa")
    result = run("ask", "q", "--context", context)
    assert (result.exit_code, tiny.requests) == (2, [])
    assert why in result.stderr


def test_an_answer_cannot_steer_the_terminal_nor_forge_a_line(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been stored before such answers were refused."""
    text = "\x1b[31mred\x07 \u202eturned [bold]:smile:\nVersion 99  admin"
    plain = tiny.answer(wire.AnswerRequest(question=PERU))
    monkeypatch.setattr(tiny, "answer", lambda _: plain.model_copy(update={"answer": text}))
    line = "\\u001b[31mred\\u0007 \\u202eturned [bold]:smile:\\u000aVersion 99  admin\n"
    assert run("ask", PERU).stdout == line
