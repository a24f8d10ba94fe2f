"""Draws the sentence tree that K-BERT reads: the question in one line, and the facts hung on its words as branches.

Liu et al., K-BERT (arXiv:1909.07606), figure 1: a fact's soft positions go on from the word that it hangs from, and
the sentence's own words go on counting as if no fact were there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from errata.cli.branches import INDENT, Branches, Key, positions
from errata.cli.placed import Placed

GAP = 1


class SentenceTree:
    """rests_on: the facts that the answer rests on, as (entity, relation, object)."""

    def __init__(self, words: Sequence[Placed], rests_on: Collection[Key]) -> None:
        self._words, self._rests_on = words, rests_on

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - INDENT, 1)
        for line in _lines(self._words, width):
            yield from self._line(console, line, width)

    def _line(self, console: Console, line: Sequence[Placed], width: int) -> Iterator[Text]:
        """The words, their positions below them, and the branches below those."""
        words, below, column = Text(" " * INDENT), Text(" " * INDENT), 0
        hung: list[tuple[int, Placed]] = []
        for word in line:
            if word.linked is not None:
                hung.append((column, word))
            wide = _wide(word) + GAP
            words.append(_padded(word.text, wide), _style(word))
            below.append(_padded(positions(word.first, word.last), wide), "dim")
            column += wide
        for text in (words, below):
            text.rstrip()
            if text.plain.strip():
                yield text
        for place, word in hung:
            if word.linked is not None:
                yield from Branches(word.linked, self._rests_on).lines(console, place, width)


def _lines(words: Sequence[Placed], width: int) -> list[list[Placed]]:
    """As many words as there is room for, but at most one that something hangs from: branches never cross."""
    lines: list[list[Placed]] = [[]]
    for word in words:
        used = sum(_wide(one) + GAP for one in lines[-1])
        taken = any(one.linked is not None for one in lines[-1])
        if lines[-1] and (used + _wide(word) > width or (taken and word.linked is not None)):
            lines.append([])
        lines[-1].append(word)
    return [line for line in lines if line]


def _style(word: Placed) -> str:
    """A tag of the model's own, such as [CLS], is no word of the question."""
    if word.linked is not None:
        return "bold cyan"
    return "dim" if word.start < 0 else ""


def _wide(word: Placed) -> int:
    return max(cell_len(word.text), cell_len(positions(word.first, word.last)))


def _padded(text: str, wide: int) -> str:
    return text + " " * (wide - cell_len(text))
