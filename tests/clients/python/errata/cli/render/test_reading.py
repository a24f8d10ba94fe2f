"""The sentence tree as a person sees it: words with their soft positions, facts as branches, at any width."""

from __future__ import annotations

import io
from typing import Any

import pytest
from errata import wire
from errata.cli.render.explanation.sections import draw_explanation
from errata.cli.render.explanation.sentence_tree import locate_words
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


def draw(
    explanation: dict[str, Any], question: str = PERU, answer: str | None = "Cusco", width: int = 80
) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(draw_explanation(explanation, question, answer))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_whole_reading_is_drawn() -> None:
    text = "\n".join(draw(EXPLANATION))
    for line in (
        "  [CLS] What is the capital of Peru ? [SEP]\n  0     1    2  3   4–5     6  7    8 9\n",
        "● the answer rests on it   ○ read as well",
        "    name  taken for                    fit  facts\n    Peru  Peru               wd:Q419",
        "          not Peru, Indiana  wd:Q28   0.12      4",
        "    Peru  continent  South America  others fit the question better",
        "    capital   Cusco    Spanish             31 %\n    language  Spanish  the same            90 %\n",
        "    x         y        not sure            10 %",
        "  That no fact answers: 3 %",
    ):
        assert line in text


def test_the_branches_hang_from_their_word_where_there_is_room() -> None:
    lines = draw(EXPLANATION, width=120)
    words = lines[1]
    assert lines[3:6] == [
        f"{' ' * words.index('Peru')}Peru  wd:Q419                        rank  score",
        f"{' ' * words.index('Peru')}├─  8–9 ● capital Cusco              0.93   0.88  e3",
        f"{' ' * words.index('Peru')}└─ 8–10 ○ official language Spanish  0.21   0.02",
    ]


def test_branches_that_have_no_room_turn_to_the_left() -> None:
    lines = draw(EXPLANATION, width=60)
    turn = next(line for line in lines if "┘" in line)
    assert turn.index("┘") == lines[1].index("Peru")
    root = next(line for line in lines if "wd:Q419" in line)
    assert root.index("Peru") == turn.index("┌")


def test_two_words_with_facts_never_stand_on_one_line() -> None:
    question = "Who wrote The Hobbit and Dune?"
    explanation = {
        "tokens": tokens("who wrote the hobbit and dune ?"),
        "tree": [
            mention("The Hobbit", 10, "h", fact("author Tolkien", 5, 6, relation="author", object="Tolkien")),
            mention("Dune", 25, "d", fact("author Herbert", 7, 8, relation="author", object="Herbert")),
        ],
    }
    assert draw(explanation, question)[1:] == [
        "  [CLS] Who wrote The Hobbit and",
        "  0     1   2     3–4        5",
        "                  The Hobbit  h            rank  score",
        "                  └─ 5–6 ○ author Tolkien  0.21   0.02",
        "  Dune ? [SEP]",
        "  6    7 8",
        "  Dune  d                  rank  score",
        "  └─ 7–8 ○ author Herbert  0.21   0.02",
    ]


def test_wide_letters_keep_the_columns() -> None:
    explanation = {
        "tokens": tokens("日 本 の 首 都 は ?"),
        "tree": [mention("日本", 0, "ja:日本", fact("首都 東京都", 3, 7), fact("通貨 円", 3, 5))],
    }
    lines = draw(explanation, "日本の首都は?")
    assert lines[1:3] == ["  [CLS] 日本 の 首 都 は ? [SEP]", "  0     1–2  3  4  5  6  7 8"]
    scores = [cell_len(line[: line.index("0.21")]) for line in lines if "○" in line]
    assert len(scores) == 2
    assert len(set(scores)) == 1


@pytest.mark.parametrize("width", [30, 44, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = fact(
        "a very long fact about the head of state " * 3, 8, 22, relation="r", object="o", edit="e" * 30
    )
    explanation = {**EXPLANATION, "tree": [mention("Peru", 23, "http://x.org/" + "y" * 90, CUSCO, long)]}
    assert max(map(cell_len, draw(explanation, width=width))) <= width


def test_words_are_spelt_as_they_were_asked_and_pieces_are_joined() -> None:
    words = locate_words("Où est  São Tomé?", tokens("ou est sao tom ##e ?"), [])
    assert [word.text for word in words] == ["[CLS]", "Où", "est", "São", "Tomé", "?", "[SEP]"]
    assert [(word.first, word.last) for word in words][4] == (4, 5)


def test_what_is_read_beside_the_question_is_not_drawn() -> None:
    beside = [{"text": "context", "position": 9, "word": 9, "branch": 0}]
    assert "context" not in "\n".join(draw({**EXPLANATION, "tokens": [*EXPLANATION["tokens"], *beside]}))


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
    draw(explanation, question="", answer=None, width=20)


def test_what_a_newer_service_adds_is_drawn_in_its_own_terms() -> None:
    assert "  heads  7" in draw({**EXPLANATION, "heads": 7})


def test_of_much_that_was_left_out_some_is_shown() -> None:
    omissions = [{"entity": "e", "relation": f"r{n}", "object": "o", "reason": "odd"} for n in range(64)]
    lines = draw({"tree": [], "left_out": omissions})
    assert sum("odd" in line for line in lines) == 12
    assert "    and 52 more: --json tells them all" in lines


def test_the_command_draws_it(run: Any) -> None:
    result = run("ask", PERU, "--model", "kbert", "--explain")
    assert "  0     1    2  3   4       5  6    7 8\n" in result.stdout
    assert "└─ 7–8 ● capital Lima  0.93   0.88\n" in result.stdout


def test_the_graph_cannot_steer_the_terminal_nor_tear_the_tree(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.answer(wire.AnswerRequest(question=PERU))
    evil = fact("[bold]a\nb\x1b[2J", 8, 9, relation="r", object="o")
    explanation = {**EXPLANATION, "tree": [mention("Peru", 23, "x\x07", evil)]}
    monkeypatch.setattr(tiny, "answer", lambda _: plain.model_copy(update={"explanation": explanation}))
    text = run("ask", PERU, "--explain").stdout
    assert "└─ 8–9 ○ [bold]a\\u000ab\\u001b[2J" in text
    assert "Peru  x\\u0007" in text
