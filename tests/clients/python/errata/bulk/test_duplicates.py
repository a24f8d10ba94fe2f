"""If a file has two answers to one question, the later counts; if they are equal, the earlier."""

from __future__ import annotations

from errata.bulk.batch import mark_duplicates
from errata.bulk.line import Line
from errata.wire import EditItem, FactItem, Item


def mark(*items: Item) -> list[Line]:
    lines = [Line(number, f"f:{number}", item) for number, item in enumerate(items, start=1)]
    mark_duplicates(lines)
    return lines


def item(question: str, answer: str, *paraphrases: str, model: str = "nkb") -> EditItem:
    return EditItem(question=question, answer=answer, paraphrases=list(paraphrases), model=model)


def statuses(lines: list[Line]) -> list[str]:
    return [line.status for line in lines]


def test_a_later_answer_supersedes_an_earlier_one_and_both_lines_are_named() -> None:
    lines = mark(item("Q?", "a"), item("r", "x"), item("  q", "b"))
    assert statuses(lines) == ["replaced", "not sent", "not sent"]
    assert lines[0].detail == "f:3 gives another answer"


def test_a_wording_goes_to_the_line_that_answers_it_last() -> None:
    lines = mark(item("q", "a", "p", "r"), item("P?", "b"))
    assert statuses(lines) == ["not sent", "not sent"]
    assert lines[0].item == item("q", "a", "r")
    assert lines[0].warnings == [
        "f:2 gives 'p' another answer, so it is none of this line's wordings any more"
    ]


def test_another_model_may_answer_otherwise_and_facts_are_left_to_the_service() -> None:
    fact = FactItem(subject="Peru", relation="capital", object="Cusco")
    again = FactItem(subject="Peru", relation="capital", object="Puno")
    lines = mark(item("q", "a"), item("q", "b", model="kbert"), fact, again, fact)
    assert statuses(lines) == ["not sent"] * 5
