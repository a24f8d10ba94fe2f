"""What counts as a hit of an edit, what as a failure, and on how many questions each figure stands."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import pytest

from models.memory import AnswerChange, Block, EditRefused, Image, Material
from models.nkb.system import NkbSystem
from models.packs.pack import Entity, Item, Relation
from models.system import Ask, Reply
from models.training.edits import Share, make, measure
from models.training.plan import DEFAULT
from models.training.run import METHOD

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


class Book(NkbSystem):
    """A system that answers from a dictionary of subjects, edited the same way."""

    def __init__(
        self, refused: frozenset[str] = frozenset(), withheld: bool = False, spreads: bool = False
    ) -> None:
        self.refused, self.withheld, self.spreads = refused, withheld, spreads
        self.calls: list[int] = []

    @cached_property
    def base(self) -> Image:
        return Image("book")

    def view(self, image: Image) -> Mapping[str, str]:
        return dict(key.split("=", 1) for key in image.blocks)

    def answer(self, asks: Sequence[Ask], views: Sequence[Mapping[str, str]]) -> list[Reply]:
        return [self._reply(ask.question, view) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, question: str, view: Mapping[str, str]) -> Reply:
        known = {f"{i.relation.id} of {i.subject.label}": i.answer for i in ITEMS} | view
        fact = question.removeprefix("held ").split(" (")[0]
        said = known[fact] + ("?" if self.spreads and view and fact not in view else "")
        return Reply(None if self.withheld else said, 0.5, said)

    def edit(self, corrections: Sequence[AnswerChange], method: str) -> list[Material]:
        self.calls.append(len(corrections))
        return [self._material(one, method) for one in corrections]

    def _material(self, one: AnswerChange, method: str) -> Material:
        fact = one.question.split(" (")[0]
        if fact in self.refused:
            raise EditRefused("unreachable", fact)
        return Material(one.id, method, Block(f"{fact}={one.answer}", 0, "page", {}))

    def fold(self, materials: Sequence[Material]) -> Image:
        return Image("book", {m.block.key: m.block for m in materials})


def test_an_edit_that_works_is_a_hit_in_both_phrasings_and_leaves_the_others_alone() -> None:
    figures = measure(Book(), ITEMS, [0, 2], "gated", 1)
    assert (figures.edits, figures.refused) == (2, 0)
    assert figures.reliability == figures.generalisation == Share(2, 2)
    assert figures.neighbours == figures.same_subject == figures.random == Share(1, 1)


def test_a_withheld_answer_is_no_hit_though_it_would_have_been_right() -> None:
    figures = measure(Book(withheld=True), ITEMS, [0, 2], "gated", 1)
    assert figures.reliability == figures.generalisation == Share(0, 2)


def test_a_withheld_answer_that_would_change_is_not_kept() -> None:
    figures = measure(Book(withheld=True, spreads=True), ITEMS, [0, 2], "gated", 1)
    assert figures.neighbours == figures.same_subject == figures.random == Share(0, 1)


def test_a_refused_edit_is_counted_and_a_failure() -> None:
    figures = measure(Book(frozenset({"capital of Chile"})), ITEMS, [0, 2], "surgery", 1)
    assert (figures.edits, figures.refused) == (2, 1)
    assert figures.reliability == figures.generalisation == Share(1, 2)


def test_a_refused_edit_is_a_failure_even_where_the_base_says_the_answer() -> None:
    same = [
        Item(PERU, CAPITAL, "Cusco"),
        Item(CHILE, CAPITAL, "Lima"),
    ]  # Peru is to become what the book says
    figures = measure(Book(frozenset({"capital of Peru"})), same, [0], "surgery", 1)
    assert (figures.refused, figures.reliability) == (1, Share(0, 1))


def test_surgery_edits_one_by_one_and_gated_slots_all_at_once() -> None:
    corrections = [AnswerChange(str(n), f"capital of {n} (0)", "Lima") for n in range(3)]
    for method, calls in (("surgery", [1, 1, 1]), ("gated", [3])):
        book = Book()
        make(book, corrections, method)
        assert book.calls == calls


@pytest.mark.parametrize(("share", "told"), [(Share(1, 3), "33.3 (3)"), (Share(999, 1000), "99.9 (1,000)")])
def test_a_share_names_the_questions_it_is_measured_on(share: Share, told: str) -> None:
    assert str(share) == told


def test_a_share_of_no_questions_is_not_nought() -> None:
    assert str(Share(0, 0)) == "none asked"


def test_the_plan_measures_every_method_and_the_card_has_a_name_for_it() -> None:
    assert {method for method, _ in DEFAULT.edits} == set(NkbSystem.methods) == set(METHOD)
