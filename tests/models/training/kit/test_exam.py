"""Answers that are right, declined and wrong, and what an edit reaches and leaves alone."""

from collections.abc import Mapping, Sequence

import pytest

from models.blocks import Block, Image
from models.memory import AnswerChange, ChangeKind, EditRefused, Material, Options, Usage, Views
from models.system import UNSURE, Ask, Input, Probes, Reply
from models.training.kit.exam import Case, Figures, Outcome, Question, count, measure_edits

PAGES = {"capital of Peru": "Lima", "capital of Chile": "Santiago", "motto of Peru": "Firm"}


class Book:
    """The memory of a system that answers from a dictionary, and stores its edits there."""

    name = "book"
    accepts: frozenset[ChangeKind] = frozenset({"answer"})
    options = Options
    base = Image("book")

    def __init__(self, refuses: str = "") -> None:
        self._refuses = refuses
        self.calls: list[int] = []

    def view(self, image: Image) -> Mapping[str, str]:
        return dict(key.split("=", 1) for key in image.blocks)

    def build(self, changes: Sequence[AnswerChange], options: Options) -> list[Material | EditRefused]:
        self.calls.append(len(changes))
        return [self._build(change) for change in changes]

    def _build(self, change: AnswerChange) -> Material | EditRefused:
        if change.question == self._refuses:
            return EditRefused("unreachable", change.question)
        block = Block.of(f"{change.question}={change.answer}", 0, "page", {})
        return Material(change.id, "page", block)

    def fold(self, materials: Sequence[Material]) -> Image:
        return Image("book", {m.block.key: m.block for m in materials})

    def usage(self, image: Image) -> Usage:
        return Usage(len(image.blocks), None)


class Librarian:
    """Answers from the book. declines: gives no answer. spreads: other answers change when there is an edit."""

    name = "librarian"
    memories = ("book",)
    inputs: frozenset[Input] = frozenset()
    probes = Probes()

    def __init__(self, declines: bool = False, spreads: bool = False) -> None:
        self._declines, self._spreads = declines, spreads

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [self._reply(ask.question, view["book"]) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, question: str, pages: Mapping[str, str]) -> Reply:
        best = {**PAGES, **pages}[question] + (
            "?" if self._spreads and pages and question not in pages else ""
        )
        return Reply(None if self._declines else best, 0.5, best)

    def describe(self) -> Mapping[str, str]:
        return {}


def case(question: str, answer: str) -> Case:
    reach = {"given": [Question(Ask(question), answer)]}
    stay = {"others": [Ask(other) for other in PAGES if other.endswith("Peru") and other != question]}
    return Case(AnswerChange(question, question, answer), reach, stay)


CASES = [case("capital of Peru", "Cusco"), case("capital of Chile", "Talca")]


def measure(librarian: Librarian, book: Book, alone: bool = False) -> Figures:
    return measure_edits(librarian, book, CASES, {"book": {}}, alone=alone)


@pytest.mark.parametrize("alone", [False, True])
def test_an_edit_that_works_is_a_hit_and_leaves_the_others_alone(alone: bool) -> None:
    figures = measure(Librarian(), Book(), alone)
    assert (figures["n"], figures["refused"], figures["given"]) == (2, 0, 100)
    # "capital of Peru" is a question that stays for the second case, and is edited by the first
    assert (figures["others"], figures["n_others"]) == (100 if alone else 66.7, 3)


def test_a_withheld_answer_is_no_hit_though_it_would_have_been_right() -> None:
    assert measure(Librarian(declines=True), Book())["given"] == 0


def test_answers_that_an_edit_changes_elsewhere_are_counted() -> None:
    assert measure(Librarian(spreads=True), Book(), alone=True)["others"] == 0


def test_a_refused_edit_is_counted_and_a_failure() -> None:
    figures = measure(Librarian(), Book("capital of Chile"))
    assert (figures["refused"], figures["given"]) == (1, 50)


def test_a_refused_edit_is_a_failure_even_where_the_base_says_the_answer() -> None:
    same = [case("capital of Peru", "Lima")]
    figures = measure_edits(Librarian(), Book("capital of Peru"), same, {"book": {}})
    assert (figures["refused"], figures["given"]) == (1, 0)


def test_changes_are_built_in_calls_of_the_size() -> None:
    single, together = Book(), Book()
    measure_edits(Librarian(), single, CASES, {"book": {}})
    measure_edits(Librarian(), together, CASES, {"book": {}}, size=5)
    assert (single.calls, together.calls) == ([1, 1], [2])


def test_a_group_counts_right_wrong_and_declined_answers() -> None:
    def outcome(answer: str | None, best: str, expected: str | None) -> Outcome:
        reason = UNSURE if answer is None else None
        return Outcome(Question(Ask("?"), expected), Reply(answer, 0.5, best, reason))

    figures = count(
        [
            outcome("Lima", "Lima", "Lima"),
            outcome("Cusco", "Cusco", "Lima"),
            outcome(None, "Lima", "Lima"),
            outcome(None, "Lima", None),
        ]
    )
    assert (figures["n"], figures["right"], figures["wrong"], figures["declined"]) == (4, 50, 25, 50)
    assert (figures["best"], figures["calibration_error"]) == (50, 0)
    assert 25 < figures["interval"] < 50
    assert count([])["interval"] == 0
