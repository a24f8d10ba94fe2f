"""Draws the sentence tree that K-BERT reads: the question in one line, and the facts hung on its words as branches.

Liu et al., K-BERT (arXiv:1909.07606), figure 1: a fact's soft positions go on from the word that it hangs from, and
the sentence's own words go on counting as if no fact were there. A model's tokens are in lower case, without accents
and cut into pieces; here each is located in the question, so that words appear in their writer's spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from errata.cli.render.branches import INDENT, Branches, Key, positions
from errata.cli.render.text import one_line, visible

END = "[SEP]"
PIECE = "##"  # begins a token that goes on with the word before it


@dataclass(frozen=True)
class Placed:
    """start, end: its characters in the question, -1 for a token that is not in it. first, last: soft positions.

    linked: what is hung on it, as the explanation tells it.
    """

    text: str
    start: int
    end: int
    first: int | None = None
    last: int | None = None
    linked: Mapping[str, Any] | None = None


def placed(
    question: str, tokens: Sequence[Mapping[str, Any]], tree: Sequence[Mapping[str, Any]]
) -> list[Placed]:
    """In the question's order. Without tokens its words, as spaces part them, have no positions."""
    trunk = _first_text([token for token in tokens if not token.get("branch")])
    words = list(_found(question, trunk)) if trunk else list(_parted(question))
    for mention in tree:
        words = _joined(question, words, mention)
    return [replace(word, text=visible(one_line(word.text))) for word in words]


def _first_text(trunk: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The question is read first; what is read beside it, as a context, is not drawn."""
    ends = [number for number, token in enumerate(trunk, start=1) if token.get("text") == END]
    return trunk[: ends[0]] if ends else trunk


def _parted(question: str) -> Iterator[Placed]:
    for word in re.finditer(r"\w+|[^\w\s]", question):
        yield Placed(word.group(), *word.span())


def _found(question: str, trunk: Sequence[Mapping[str, Any]]) -> Iterator[Placed]:
    letters = [(letter, place) for place, one in enumerate(question) for letter in _plain(one)]
    text, done = "".join(letter for letter, _ in letters), 0
    for words in _whole(trunk):
        said = "".join(str(token.get("text", "")).removeprefix(PIECE) for token in words)
        at = text.find(_plain(said), done) if said else -1
        start, end = -1, -1
        if at >= 0:
            done = at + len(_plain(said))
            start, end = letters[at][1], letters[done - 1][1] + 1
        spelt = question[start:end] if at >= 0 else said
        yield Placed(spelt, start, end, _position(words[0]), _position(words[-1]))


def _whole(trunk: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Each word's tokens together."""
    words: list[list[Mapping[str, Any]]] = []
    for token in trunk:
        if words and str(token.get("text", "")).startswith(PIECE):
            words[-1].append(token)
        else:
            words.append([token])
    return words


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(one for one in apart if unicodedata.category(one) != "Mn").casefold()


def _position(token: Mapping[str, Any]) -> int | None:
    position = token.get("position")
    return position if isinstance(position, int) else None


def _span(question: str, mention: Mapping[str, Any]) -> tuple[int, int]:
    start, end, text = mention.get("start"), mention.get("end"), str(mention.get("text", ""))
    if isinstance(start, int) and isinstance(end, int):
        return start, end
    at = question.find(text)
    return at, at + len(text)


def _joined(question: str, words: list[Placed], mention: Mapping[str, Any]) -> list[Placed]:
    """The words of a mention as one; a mention that none of them shows stands at the end."""
    start, end = _span(question, mention)
    own = [n for n, one in enumerate(words) if one.start < end and one.end > start and one.linked is None]
    if not own:
        return [*words, Placed(str(mention.get("text", "")), -1, -1, linked=mention)]
    first, last = words[own[0]], words[own[-1]]
    begin, stop = min(first.start, start), max(last.end, end)
    whole = replace(first, text=question[begin:stop], start=begin, end=stop, last=last.last, linked=mention)
    return [*words[: own[0]], whole, *words[own[-1] + 1 :]]


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
