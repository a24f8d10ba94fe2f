"""The words of a question with the soft positions that a model gave them, in the writer's own spelling.

A model's tokens are in lower case, without accents and cut into pieces; here they are found again in the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from errata.cli.words import one_line, visible

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
