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

from errata.cli.render.explanation.branches import INDENT, Branches, Key, format_positions
from errata.cli.render.text import escape, one_line

END = "[SEP]"
PIECE = "##"  # begins a token that goes on with the word before it
GAP = 1
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Word:
    """A word of the question."""

    text: str
    start: int  # its first character in the question, -1 for a token that is not in it; `end` likewise
    end: int
    first: int | None = None  # its first soft position; `last` likewise
    last: int | None = None
    mention: Json | None = None  # the entity and the facts that hang on it, as the explanation has them

    @property
    def positions(self) -> str:
        return format_positions(self.first, self.last)

    @property
    def cells(self) -> int:
        return max(cell_len(self.text), cell_len(self.positions))


def locate_words(question: str, tokens: Sequence[Json], tree: Sequence[Json]) -> list[Word]:
    """Return the words in the order of the question. Without tokens they have no positions.

    Args:
        question: The question as it was asked.
        tokens: Tokens of the model, each with its text and soft position; those of branches are not drawn.
        tree: The words of the question that facts hang from.
    """
    trunk = [token for token in tokens if not token.get("branch")]
    ends = [number for number, token in enumerate(trunk, start=1) if token.get("text") == END]
    if ends:  # the question is read first; a context after it is not drawn
        trunk = trunk[: ends[0]]
    if trunk:
        words = list(_match_tokens(question, trunk))
    else:
        words = [Word(match.group(), *match.span()) for match in re.finditer(r"\w+|[^\w\s]", question)]
    for mention in tree:
        words = _join_mention(question, words, mention)
    return [replace(word, text=escape(one_line(word.text))) for word in words]


def _match_tokens(question: str, trunk: Sequence[Json]) -> Iterator[Word]:
    """Yield words of joined tokens, with the characters of the question that they were made of."""
    groups: list[list[Json]] = []
    for token in trunk:
        if groups and str(token.get("text", "")).startswith(PIECE):
            groups[-1].append(token)
        else:
            groups.append([token])
    letters = [
        (letter, index) for index, original in enumerate(question) for letter in _strip_accents(original)
    ]
    text, search_from = "".join(letter for letter, _ in letters), 0
    for group in groups:
        word = "".join(str(token.get("text", "")).removeprefix(PIECE) for token in group)
        at = text.find(_strip_accents(word), search_from) if word else -1
        start, end = -1, -1
        if at >= 0:
            search_from = at + len(_strip_accents(word))
            start, end = letters[at][1], letters[search_from - 1][1] + 1
            word = question[start:end]
        first, last = (
            place if isinstance(place := token.get("position"), int) else None
            for token in (group[0], group[-1])
        )
        yield Word(word, start, end, first, last)


def _strip_accents(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn").casefold()


def _join_mention(question: str, words: list[Word], mention: Json) -> list[Word]:
    """Join the words of a mention into one; a mention that none of them shows stands at the end."""
    start, end, text = mention.get("start"), mention.get("end"), str(mention.get("text", ""))
    if not (isinstance(start, int) and isinstance(end, int)):
        start = question.find(text)
        end = start + len(text)
    inside = [
        index
        for index, word in enumerate(words)
        if word.start < end and word.end > start and word.mention is None
    ]
    if not inside:
        return [*words, Word(text, -1, -1, mention=mention)]
    first, last = words[inside[0]], words[inside[-1]]
    start, end = min(first.start, start), max(last.end, end)
    whole = Word(question[start:end], start, end, first.first, last.last, mention)
    return [*words[: inside[0]], whole, *words[inside[-1] + 1 :]]


class SentenceTree:
    """rests_on: the facts that the answer rests on, as (entity, relation, object)."""

    def __init__(self, words: Sequence[Word], rests_on: Collection[Key]) -> None:
        self._words, self._rests_on = words, rests_on

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield lines of as many words as have room, with one at most that has facts: branches never cross."""
        width = max(options.max_width - INDENT, 1)
        line: list[Word] = []
        for word in self._words:
            cells = sum(earlier.cells + GAP for earlier in line)
            has_branches = word.mention is not None and any(earlier.mention is not None for earlier in line)
            if line and (cells + word.cells > width or has_branches):
                yield from self._draw_line(console, line, width)
                line = []
            line.append(word)
        if line:
            yield from self._draw_line(console, line, width)

    def _draw_line(self, console: Console, line: Sequence[Word], width: int) -> Iterator[Text]:
        """Yield the words, their positions below them, and the branches below those."""
        texts, positions, column = Text(" " * INDENT), Text(" " * INDENT), 0
        branches: list[tuple[int, Branches]] = []
        for word in line:
            style = "dim" if word.start < 0 else ""  # a tag of the model's own, such as [CLS]
            if word.mention is not None:
                style = "bold cyan"
                branches.append((column, Branches(word.mention, self._rests_on)))
            cells = word.cells + GAP
            texts.append(word.text + " " * (cells - cell_len(word.text)), style)
            positions.append(word.positions + " " * (cells - cell_len(word.positions)), "dim")
            column += cells
        for text in (texts, positions):
            text.rstrip()
            if text.plain.strip():
                yield text
        for word_column, branch in branches:
            yield from branch.lines(console, word_column, width)
