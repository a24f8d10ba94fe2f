"""The facts that hang from one word, as branches below it; where there is no room below it, further to the left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from errata.cli.render.text import one_line

INDENT = 2
FORK, LAST_FORK, STEM, NO_STEM = "├─ ", "└─ ", "│  ", "   "
RESTS_ON, READ = "●", "○"
MIN_TEXT = 16
FAIR_TEXT = 36  # a longer text is broken into lines rather than moving the branches away from their word
Key = tuple[str, str, str]


class Branch(NamedTuple):
    """One fact, as the cells of its line."""

    positions: str
    text: str
    rank: str
    score: str
    edit: str
    rests_on: bool


class Widths(NamedTuple):
    """Cells of each column but the text; 0 where no fact has anything in it."""

    positions: int
    rank: int
    score: int
    edit: int

    @property
    def stem(self) -> int:
        """Return the width before the text: the fork, the positions, the mark."""
        return len(FORK) + (self.positions + 1 if self.positions else 0) + len(RESTS_ON) + 1


class Branches:
    def __init__(self, mention: Mapping[str, Any], rests_on: Collection[Key]) -> None:
        """Read the facts of a word of the tree; the answer rests on those of `rests_on`."""
        self._entity = str(mention.get("entity") or "")
        self._label = one_line(str(mention.get("label") or mention.get("text") or ""))
        facts = mention.get("facts")
        self._branches: list[Branch] = []
        for fact in facts if isinstance(facts, list) else []:
            if not isinstance(fact, dict):
                continue
            relation, value = str(fact.get("relation") or ""), str(fact.get("object") or "")
            span = fact.get("positions")
            first, last = span if isinstance(span, list) and len(span) == 2 else (None, None)
            branch = Branch(
                positions=format_positions(first, last),
                text=one_line(str(fact.get("text") or f"{relation} {value}")),
                rank=format_number(fact.get("rank")),
                score=format_number(fact.get("score")),
                edit=str(fact.get("edit") or ""),
                rests_on=(self._entity, relation, value) in rests_on,
            )
            self._branches.append(branch)

    def lines(self, console: Console, word_column: int, width: int) -> Iterator[Text]:
        """Yield the lines below the word at `word_column`, in a drawing of `width` cells."""

        def widest(name: str) -> int:
            cells = max((cell_len(getattr(branch, name)) for branch in self._branches), default=0)
            return max(cells, len(name)) if cells and name in ("rank", "score") else cells

        widths = Widths(*map(widest, Widths._fields))
        other_cells = widths.stem + sum(cells + 2 for cells in widths[1:] if cells)
        longest = max((cell_len(branch.text) for branch in self._branches), default=0)
        column = max(min(word_column, width - other_cells - min(longest, FAIR_TEXT)), 0)
        room = min(longest, max(min(longest, width - column - other_cells), MIN_TEXT))
        if column < word_column:
            turn = f"┌{'─' * (word_column - column - 1)}┘"
            yield Text(" " * (INDENT + column) + turn, style="dim")
        lines = list(self._draw_head(widths, room))
        for branch in self._branches:
            lines += _draw_branch(console, branch, branch is self._branches[-1], widths, room)
        for line in lines:
            line.truncate(width - column, overflow="ellipsis")
            yield Text.assemble(" " * (INDENT + column), line)

    def _draw_head(self, widths: Widths, room: int) -> Iterator[Text]:
        """Yield the entity of the word, and the titles of the columns, on one line if there is room."""
        head = Text.assemble((self._label, "cyan"), (f"  {self._entity}" if self._entity else "", "dim"))
        if not self._branches:
            yield Text.assemble(head, ("  no facts", "dim"))
            return
        start = widths.stem + room
        columns = (("rank", widths.rank), ("score", widths.score))
        titles = "".join(f"  {title:>{cells}}" for title, cells in columns if cells)
        if cell_len(head.plain) > start and titles:
            yield head
            head = Text()
        line = Text.assemble(head, " " * (start - cell_len(head.plain)), (titles, "dim"))
        line.rstrip()
        yield line


def _draw_branch(console: Console, branch: Branch, last: bool, widths: Widths, room: int) -> Iterator[Text]:
    """Yield the line of a fact, and below it the rest of a text that is longer than `room`."""
    style = "green" if branch.rests_on else ""
    for number, piece in enumerate(Text(branch.text, style=style).wrap(console, max(room, 1))):
        piece.rstrip()
        if number:
            stem = (NO_STEM if last else STEM) + " " * (widths.stem - len(FORK) - len(RESTS_ON) - 1)
            yield Text.assemble((stem, "dim"), "  ", piece)
            continue
        line = Text.assemble((LAST_FORK if last else FORK, "dim"))
        line.append(f"{branch.positions:>{widths.positions}} " if widths.positions else "", "dim")
        line.append(f"{RESTS_ON if branch.rests_on else READ} ", style or "dim")
        line.append_text(piece).append(" " * (room - cell_len(piece.plain)))
        for cell, cells in ((branch.rank, widths.rank), (branch.score, widths.score)):
            line.append(f"  {cell:>{cells}}" if cells else "")
        line.append(f"  {branch.edit}" if widths.edit else "", "dim")
        line.rstrip()
        yield line


def format_positions(first: object, last: object) -> str:
    if not isinstance(first, int):
        return ""
    return str(first) if last in (None, first) else f"{first}–{last}"


def format_number(value: object) -> str:
    """Format a share or a similarity; a place in an order stays a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.2f}"
