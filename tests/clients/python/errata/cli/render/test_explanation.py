"""A model's explanation is shown as words and tables, whatever its shape; JSON stays JSON."""

from __future__ import annotations

from typing import Any

import pytest
from errata import wire

PERU = "What is the capital of Peru?"
SLOTS = {
    "gate": {"open": False},
    "slots": [
        {"slot": 123, "weight": 0.4123, "words": ["Lima", "Cusco"], "logit_change_without": -1.25},
        {"slot": 7, "weight": 0.0123, "words": ["Puno"], "logit_change_without": -11.5},
    ],
}
GATE = {"gate": {"open": True, "edit": "e1", "log_odds": 3.2}, "slots": []}


@pytest.fixture
def explain(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function: explained({...}, "--json") is the command's output for this explanation."""

    def ask(explanation: dict[str, Any], *options: str) -> str:
        plain = tiny.answer(wire.AnswerRequest(question=PERU))
        answer = plain.model_copy(update={"explanation": explanation})
        monkeypatch.setattr(tiny, "answer", lambda _: answer)
        return str(run("ask", PERU, "--explain", *options).stdout)

    return ask


@pytest.mark.parametrize(
    ("explanation", "lines"),
    [
        (
            SLOTS,
            [
                "  gate   open  no",
                "  slots  slot  weight  words        logit change without",
                "          123  0.4123  Lima, Cusco                 -1.25",
                "            7  0.0123  Puno                        -11.5",
            ],
        ),
        (
            GATE,
            [
                "  gate   open      yes",
                "         edit      e1",
                "         log odds  3.2",
                "  slots  none",
            ],
        ),
        (
            {
                "fact": {"edit": "e1", "probability": 0.9988548149683001},
                "rows": [{"a": None, "b": 0.123456789}],
            },
            [
                "  fact  edit         e1",
                "        probability  100 %",
                "  rows  a       b",
                "           0.1235",
            ],
        ),
        ({}, ["  none"]),
        ({"rows": [{"a": 1}, {"b": {"c": None}}]}, ["  rows  a  b", "        1", "           c  none"]),
        ({"mixed": [1, {"b": 2}, [3, 4]]}, ["  mixed  1", "         b  2", "         3, 4"]),
    ],
    ids=["slots", "gate", "numbers", "empty", "uneven", "mixed"],
)
def test_an_explanation_is_drawn(explain: Any, explanation: dict[str, Any], lines: list[str]) -> None:
    lines_of_output = explain(explanation).splitlines()
    assert [line.rstrip() for line in lines_of_output] == ["Lima", *lines]


def test_an_explanation_cannot_steer_the_terminal(explain: Any) -> None:
    assert "  \\u001b[2J  [bold]\\u0007" in explain({"\x1b[2J": "[bold]\x07"})
