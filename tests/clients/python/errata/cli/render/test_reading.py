"""The sentence tree as a person sees it: words with their soft positions, and their facts, at any width."""

from __future__ import annotations

import io
from typing import Any

import pytest
from errata import wire
from errata.cli.render.explanation import draw_explanation
from rich.cells import cell_len
from rich.console import Console

PERU = "What is the capital of Peru?"
CAPITAL = {"relation": "capital", "object": "Cusco"}
LANGUAGE = {"relation": "language", "object": "Spanish"}


def tokens(text: str, *branch_tokens: dict[str, Any]) -> list[dict[str, Any]]:
    words = ["[CLS]", *text.split(), "[SEP]"]
    trunk = [{"text": word, "position": n, "word": 0, "branch": 0} for n, word in enumerate(words)]
    return [*trunk, *branch_tokens]


def fact(text: str, first: int, last: int, **fields: Any) -> dict[str, Any]:
    return {"text": text, "rank": 0.21, "score": 0.02, "positions": [first, last], "edit": "", **fields}


def mention(text: str, start: int, entity: str, *facts: dict[str, Any]) -> dict[str, Any]:
    end = start + len(text)
    return {"text": text, "start": start, "end": end, "entity": entity, "label": text, "facts": list(facts)}


CUSCO = fact("capital Cusco", 8, 9, **CAPITAL) | {"rank": 0.93, "score": 0.881, "edit": "e3"}
SPANISH = fact("official language Spanish", 8, 10, **LANGUAGE)
EXPLANATION: dict[str, Any] = {
    "tokens": tokens("what is the cap ##ital of peru ?", {"text": "cusco", "position": 9, "branch": 1}),
    "tree": [mention("Peru", 23, "wd:Q419", CUSCO, SPANISH)],
    "ambiguous": [
        {
            "text": "Peru",
            "chosen": "wd:Q419",
            "others": [{"id": "wd:Q28", "label": "Peru, Indiana", "fit": 0.1234, "degree": 4}],
        }
    ],
    "left_out": [{"entity": "wd:Q419", "relation": "continent", "object": "South America", "reason": "rank"}],
    "no_answer": 0.0312,
    "rests_on": [{"entity": "wd:Q419", "subject": "Peru", **CAPITAL, "edit": "e3"}],
    "without": [
        {**CAPITAL, "answer": "Spanish", "score": 0.31},
        {**LANGUAGE, "answer": "Cusco", "score": 0.9},
        {"relation": "x", "object": "y", "answer": None, "score": 0.1},
    ],
}


def draw(explanation: dict[str, Any], answer: str | None = "Cusco", width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(draw_explanation(explanation, answer))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_whole_reading_is_drawn() -> None:
    text = "\n".join(draw(EXPLANATION))
    for line in (
        "  0 [CLS]  1 what  2 is  3 the  4–5 capital  6 of  7 peru  8 ?  9 [SEP]\n  Peru  wd:Q419\n",
        "  ●   8–9  capital Cusco              0.93   0.88  e3",
        "  ○  8–10  official language Spanish  0.21   0.02",
        "● the answer rests on it   ○ read as well",
        "    name  taken for                    fit  facts\n    Peru  Peru               wd:Q419",
        "          not Peru, Indiana  wd:Q28   0.12      4",
        "    Peru  continent  South America  others fit the question better",
        "    capital   Cusco    Spanish             31 %\n    language  Spanish  the same            90 %\n",
        "    x         y        not sure            10 %",
        "  That no fact answers: 3 %",
    ):
        assert line in text


@pytest.mark.parametrize("width", [30, 44, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = fact(
        "a very long fact about the head of state " * 3, 8, 22, relation="r", object="o", edit="e" * 30
    )
    explanation = {**EXPLANATION, "tree": [mention("Peru", 23, "http://x.org/" + "y" * 90, CUSCO, long)]}
    assert max(map(cell_len, draw(explanation, width=width))) <= width


@pytest.mark.parametrize(
    "explanation",
    [
        {"tree": []},
        {"tokens": []},
        {"tree": [{}], "tokens": [{}]},
        {"tree": [{"text": "Peru", "facts": None}]},
        {"tree": [{"text": "Peru", "start": "a", "end": 3, "facts": [7, {}, {"positions": [1]}]}]},
        {"tree": 7, "tokens": "x", "rests_on": 7, "without": [7], "ambiguous": [{}], "left_out": [{}]},
        {"tree": [], "ambiguous": [{"chosen": {"id": "x", "fit": True}, "others": 3}], "no_answer": "x"},
    ],
)
def test_whatever_is_absent_or_of_another_shape_is_left_out(explanation: dict[str, Any]) -> None:
    draw(explanation)
    draw(explanation, answer=None, width=20)


def test_the_graph_cannot_steer_the_terminal_nor_tear_the_tree(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.answer(wire.AnswerRequest(question=PERU))
    evil = fact("[bold]a\nb\x1b[2J", 8, 9, relation="r", object="o")
    explanation = {**EXPLANATION, "tree": [mention("Peru", 23, "x\x07", evil)]}
    monkeypatch.setattr(tiny, "answer", lambda _: plain.model_copy(update={"explanation": explanation}))
    text = run("ask", PERU, "--explain").stdout
    assert "8–9  [bold]a\\u000ab\\u001b[2J" in text
    assert "Peru  x\\u0007" in text
