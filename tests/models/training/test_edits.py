"""Hits and failures of an edit, and the number of questions of each figure."""

from collections.abc import Mapping, Sequence

import pytest

from models.memory import AnswerChange, Block, ChangeKind, EditRefused, Image, Material, Usage, Views
from models.nkb.memory import BANK, BankOptions
from models.packs.pack import Entity, Item, Relation
from models.system import Ask, Input, Probes, Reply
from models.training.edits import Share, measure

CAPITAL, MOTTO = (
    Relation(
        id,
        id,
        None,
        "one",
        "country",
        "text",
        tuple(f"{id} of {{subject}} ({n})" for n in range(6)),
        tuple(f"held {id} of {{subject}} ({n})" for n in range(3)),
        (f"{id} of {{subject}} is {{object}}", f"{{object}} is {id} of {{subject}}"),
    )
    for id in ("capital", "motto")
)
PERU, CHILE, BOLIVIA = (Entity(name, name, "country", ()) for name in ("Peru", "Chile", "Bolivia"))
ITEMS = [
    Item(PERU, CAPITAL, "Lima"),
    Item(PERU, MOTTO, "Firm"),
    Item(CHILE, CAPITAL, "Santiago"),
    Item(BOLIVIA, CAPITAL, "Sucre"),
]


class Book:
    """The memory of a system that answers from a dictionary of subjects, and stores its edits there."""

    name = BANK
    accepts: frozenset[ChangeKind] = frozenset({"answer"})
    options = BankOptions
    base = Image("book")

    def __init__(self, refuses: frozenset[str] = frozenset()) -> None:
        self._refuses = refuses
        self.calls: list[int] = []

    def view(self, image: Image) -> Mapping[str, str]:
        return dict(key.split("=", 1) for key in image.blocks)

    def build(self, changes: Sequence[AnswerChange], options: BankOptions) -> list[Material | EditRefused]:
        self.calls.append(len(changes))
        return [self._build(change, options.method) for change in changes]

    def _build(self, change: AnswerChange, method: str) -> Material | EditRefused:
        fact = change.question.split(" (")[0]
        if fact in self._refuses:
            return EditRefused("unreachable", fact)
        return Material(change.id, method, Block.of(f"{fact}={change.answer}", 0, "page", {}))

    def fold(self, materials: Sequence[Material]) -> Image:
        return Image("book", {m.block.key: m.block for m in materials})

    def usage(self, image: Image) -> Usage:
        return Usage(len(image.blocks), None)


class Librarian:
    """Answers from the book. declines: gives no answer. spreads: other answers change when there is an edit."""

    name = "librarian"
    memories = (BANK,)
    inputs: frozenset[Input] = frozenset()
    probes = Probes()

    def __init__(self, declines: bool = False, spreads: bool = False) -> None:
        self._declines, self._spreads = declines, spreads

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [self._reply(ask.question, view[BANK]) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, question: str, pages: Mapping[str, str]) -> Reply:
        answers = {f"{i.relation.id} of {i.subject.label}": i.answer for i in ITEMS} | dict(pages)
        fact = question.removeprefix("held ").split(" (")[0]
        best = answers[fact] + ("?" if self._spreads and pages and fact not in pages else "")
        return Reply(None if self._declines else best, 0.5, best)

    def describe(self) -> Mapping[str, str]:
        return {}


def test_an_edit_that_works_is_a_hit_in_both_phrasings_and_leaves_the_others_alone() -> None:
    figures = measure(Librarian(), Book(), ITEMS, [0, 2], "gated", 1)
    assert (figures.edits, figures.refused) == (2, 0)
    assert figures.reliability == figures.generalisation == Share(2, 2)
    assert figures.neighbours == figures.same_subject == figures.random == Share(1, 1)


def test_a_withheld_answer_is_no_hit_though_it_would_have_been_right() -> None:
    figures = measure(Librarian(declines=True), Book(), ITEMS, [0, 2], "gated", 1)
    assert figures.reliability == figures.generalisation == Share(0, 2)


def test_a_refused_edit_is_counted_and_a_failure() -> None:
    figures = measure(Librarian(), Book(frozenset({"capital of Chile"})), ITEMS, [0, 2], "surgery", 1)
    assert (figures.edits, figures.refused) == (2, 1)
    assert figures.reliability == figures.generalisation == Share(1, 2)


def test_a_refused_edit_is_a_failure_even_where_the_base_says_the_answer() -> None:
    same = [
        Item(PERU, CAPITAL, "Cusco"),
        Item(CHILE, CAPITAL, "Lima"),
    ]  # the edit gives Peru the answer of the book
    figures = measure(Librarian(), Book(frozenset({"capital of Peru"})), same, [0], "surgery", 1)
    assert (figures.refused, figures.reliability) == (1, Share(0, 1))


@pytest.mark.parametrize(("share", "text"), [(Share(1, 3), "33.3 (3)"), (Share(999, 1000), "99.9 (1,000)")])
def test_a_share_names_the_questions_it_is_measured_on(share: Share, text: str) -> None:
    assert str(share) == text
