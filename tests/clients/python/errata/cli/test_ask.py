"""`errata ask`: the answer alone on stdout, what is said of it on stderr, exit code 4 without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata import wire

PERU = "What is the capital of Peru?"


def test_a_script_gets_the_answer_and_nothing_else(run: Any) -> None:
    result = run("ask", PERU)
    assert (result.exit_code, result.stdout) == (0, "Lima\n")
    assert result.stderr == "version 0 · 97 % sure · 14 ms\n"


def test_a_question_need_not_be_quoted(run: Any) -> None:
    assert run("ask", *PERU.split()).stdout == "Lima\n"


def test_an_edited_answer_names_its_edit_and_the_old_version_still_answers(run: Any) -> None:
    run("edit", PERU, "Cusco")
    result = run("ask", PERU)
    assert result.stdout == "Cusco\n"
    assert "version 1" in result.stderr
    assert "1 edit: e1" in result.stderr
    assert run("ask", "--at", "0", PERU).stdout == "Lima\n"


def test_not_being_sure_is_an_exit_code_of_its_own(run: Any) -> None:
    result = run("ask", "Who is the mayor of Xyzzy?")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "Not sure enough to answer; the best guess is Nobody." in result.stderr


def test_json_is_what_the_service_sent(run: Any) -> None:
    result = run("ask", PERU, "--json")
    assert wire.Answer.model_validate_json(result.stdout).answer == "Lima"
    assert result.stderr == ""
    unsure = run("ask", "Who?", "--json")
    assert (unsure.exit_code, json.loads(unsure.stdout)["answer"]) == (4, None)


def test_several_answers_and_what_they_rest_on_are_shown_when_asked_for(run: Any) -> None:
    result = run("ask", PERU, "--top", "3", "--explain")
    assert result.stdout.count("97 %") == 3
    assert "  rests on  none" in result.stdout


def test_every_option_reaches_the_service(run: Any, tiny: Any) -> None:
    run("ask", "q", "--at", "0", "--min-version", "0", "--model", "kbert", "--top", "2", "--explain")
    sent = json.loads(tiny.seen[-1][1])
    assert sent == {
        "question": "q",
        "version": 0,
        "min_version": 0,
        "model": "kbert",
        "top_k": 2,
        "explain": True,
    }


def test_an_answer_of_an_old_version_is_marked(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tiny.answer(wire.AnswerRequest(question=PERU))
    degraded = whole.model_copy(update={"degraded": "ledger_unavailable", "truncated": True})
    monkeypatch.setattr(tiny, "answer", lambda _: degraded)
    result = run("ask", PERU)
    assert result.stdout == "Lima\n"
    assert "warning: the ledger cannot be reached" in result.stderr
    assert "cut short" in result.stderr


def test_an_answer_cannot_steer_the_terminal(run: Any) -> None:
    run("edit", PERU, "\x1b[31mred\x07 \u202eturned [bold]:smile:")
    assert run("ask", PERU).stdout == "\\u001b[31mred\\u0007 \\u202eturned [bold]:smile:\n"


def test_letters_of_any_script_are_left_alone(run: Any) -> None:
    run("edit", PERU, "Лима، لیما‌ها 👩‍🚀")
    assert run("ask", PERU).stdout == "Лима، لیما‌ها 👩‍🚀\n"


def test_a_long_answer_is_not_broken_into_lines(run: Any) -> None:
    run("edit", PERU, "word " * 300 + "end")
    assert run("ask", PERU).stdout.count("\n") == 1
