"""The facts that hang from one word, as branches below it; where there is no room below it, further to the left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from errata.cli.render.text import one_line

INDENT = 2
FORK, LAST, GOES_ON, BLANK = "├─ ", "└─ ", "│  ", "   "
RESTS, OTHER = "●", "○"
LEAST_TEXT = 16
FAIR_TEXT = 36  # a longer text is broken into lines rather than moving the branches away from their word
Key = tuple[str, str, str]


class Branch(NamedTuple):
    """One fact, as the cells of its line."""

    positions: str
    text: str
    rank: str
    score: str
    edit: str
    rests: bool


def positions(first: object, last: object) -> str:
    if not isinstance(first, int):
        return ""
    return str(first) if last in (None, first) else f"{first}–{last}"


class Branches:
    def __init__(self, mention: Mapping[str, Any], rests_on: Collection[Key]) -> None:
        self._entity = str(mention.get("entity") or "")
        self._label = one_line(str(mention.get("label") or mention.get("text") or ""))
        facts = mention.get("facts")
        told = [one for one in facts if isinstance(one, dict)] if isinstance(facts, list) else []
        self._branches = [_branch(one, self._entity, rests_on) for one in told]

    def lines(self, console: Console, place: int, width: int) -> Iterator[Text]:
        """place: the column of the word that they hang from."""
        fixed, text = self._fixed(), max((cell_len(one.text) for one in self._branches), default=0)
        column = max(min(place, width - fixed - min(text, FAIR_TEXT)), 0)
        room = max(min(text, width - column - fixed), LEAST_TEXT)
        if column < place:
            turn = f"┌{'─' * (place - column - 1)}┘"
            yield Text(" " * (INDENT + column) + turn, style="dim")
        margin = " " * (INDENT + column)
        drawn = list(self._head(min(text, room)))
        for number, one in enumerate(self._branches, start=1):
            drawn += self._drawn(console, one, number == len(self._branches), min(text, room))
        for line in drawn:
            line.truncate(width - column, overflow="ellipsis")
            yield Text.assemble(margin, line)

    def _widths(self) -> tuple[int, int, int, int]:
        """Of all cells but the text."""

        def most(name: str, title: str = "") -> int:
            widest = max((cell_len(getattr(one, name)) for one in self._branches), default=0)
            return max(widest, len(title)) if widest else 0

        return most("positions"), most("rank", "rank"), most("score", "score"), most("edit")

    def _fixed(self) -> int:
        place, *others = self._widths()
        own = len(FORK) + (place + 1 if place else 0) + len(RESTS) + 1
        return own + sum(width + 2 for width in others if width)

    def _head(self, text: int) -> Iterator[Text]:
        """What the word was taken for, and the titles of the columns, on one line if there is room."""
        place, rank, score, _ = self._widths()
        head = Text.assemble((self._label, "cyan"), (f"  {self._entity}" if self._entity else "", "dim"))
        if not self._branches:
            yield Text.assemble(head, ("  no facts", "dim"))
            return
        used = len(FORK) + (place + 1 if place else 0) + len(RESTS) + 1 + text
        titles = "".join(f"  {name:>{wide}}" for name, wide in (("rank", rank), ("score", score)) if wide)
        if cell_len(head.plain) > used and titles:
            yield head
            head = Text()
        line = Text.assemble(head, " " * (used - cell_len(head.plain)), (titles, "dim"))
        line.rstrip()
        yield line

    def _drawn(self, console: Console, one: Branch, last: bool, room: int) -> Iterator[Text]:
        place, rank, score, edit = self._widths()
        style = "green" if one.rests else ""
        wrapped = Text(one.text, style=style).wrap(console, max(room, 1))
        for number, piece in enumerate(wrapped):
            piece.rstrip()
            if number:
                stem = (BLANK if last else GOES_ON) + " " * (place + 1 if place else 0)
                yield Text.assemble((stem, "dim"), "  ", piece)
                continue
            line = Text.assemble((LAST if last else FORK, "dim"))
            line.append(f"{one.positions:>{place}} " if place else "", "dim")
            line.append(f"{RESTS if one.rests else OTHER} ", style or "dim")
            line.append_text(piece).append(" " * (room - cell_len(piece.plain)))
            for cell, wide in ((one.rank, rank), (one.score, score)):
                line.append(f"  {cell:>{wide}}" if wide else "")
            line.append(f"  {one.edit}" if edit else "", "dim")
            line.rstrip()
            yield line


def _branch(fact: Mapping[str, Any], entity: str, rests_on: Collection[Key]) -> Branch:
    relation, value = str(fact.get("relation") or ""), str(fact.get("object") or "")
    spans = fact.get("positions")
    first, last = spans if isinstance(spans, list) and len(spans) == 2 else (None, None)
    return Branch(
        positions(first, last),
        one_line(str(fact.get("text") or f"{relation} {value}")),
        number(fact.get("rank")),
        number(fact.get("score")),
        str(fact.get("edit") or ""),
        (entity, relation, value) in rests_on,
    )


def number(value: object) -> str:
    """A share or a similarity; a place in an order stays whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.2f}"
