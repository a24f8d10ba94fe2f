"""From text to words: subjects of the graph and tags by longest match (specs/kbert.md, section 3.1).

Elsewhere single characters, as in the authors' Chinese, or whole words, where word pieces follow. Any function
from text to words will do in its place: a dictionary segmenter, an entity linker.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from models.kbert.tags import TAGS

Unit = Literal["character", "word"]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the trunk.

    key: what the graph is asked for. places: for each character of `text`, where it stands in the text it came
    from. part: 0, or 1 for the second text of a pair. tag: one token, never split.
    """

    text: str
    key: str
    places: Sequence[int]
    part: int = 0
    tag: bool = False


@runtime_checkable
class Segmenter(Protocol):
    def __call__(self, text: str) -> Sequence[Word]: ...


def tag(name: str, part: int = 0) -> Word:
    """A tag that no text contains."""
    return Word(name, name, (), part, tag=True)


def given(words: Iterable[str]) -> list[Word]:
    """Words that were segmented before, one after the other; those spelt like a tag are that tag."""
    made: list[Word] = []
    start = 0
    for word in words:
        made.append(Word(word, word, range(start, start + len(word)), tag=word in TAGS))
        start += len(word)
    return made


class LongestMatch:
    """At each place the longest known name; what no name covers, unit by unit. Whitespace goes.

    With unit="word" a name must begin and end where a word does.
    inline_tags: a tag spelt in the text is that tag; else it is characters like any other.
    """

    def __init__(self, names: Iterable[str], unit: Unit = "character", inline_tags: bool = False) -> None:
        self.unit: Unit = unit
        self.inline_tags = inline_tags
        self._names: set[str] = set()
        self._lengths: dict[str, dict[int, int]] = {}  # first character -> length -> how many names
        for name in (*names, *(TAGS if inline_tags else ())):
            self.add(name)

    def add(self, name: str) -> None:
        """Known from the next call on."""
        if name and name not in self._names:
            self._names.add(name)
            lengths = self._lengths.setdefault(name[0], {})
            lengths[len(name)] = lengths.get(len(name), 0) + 1

    def remove(self, name: str) -> None:
        if name not in self._names:
            return
        self._names.remove(name)
        lengths = self._lengths[name[0]]
        lengths[len(name)] -= 1
        if not lengths[len(name)]:
            del lengths[len(name)]

    def __call__(self, text: str) -> list[Word]:
        return [self._word(text, start, end) for start, end in self._cut(text)]

    def _cut(self, text: str) -> Iterator[tuple[int, int]]:
        ends = _unit_ends(text, self.unit)
        borders = {0, *ends}
        start = 0
        while start < len(text):
            if text[start].isspace():
                start += 1
                continue
            end = self._longest(text, start, borders) if start in borders else None
            end = end or ends[start]
            yield start, end
            start = end

    def _longest(self, text: str, start: int, borders: set[int]) -> int | None:
        for length in sorted(self._lengths.get(text[start], ()), reverse=True):
            if start + length in borders and text[start : start + length] in self._names:
                return start + length
        return None

    def _word(self, text: str, start: int, end: int) -> Word:
        name = text[start:end]
        if self.inline_tags and name in TAGS:
            return Word(name, name, range(start, end), tag=True)
        if self.unit == "word" or not any(map(str.isspace, name)):
            return Word(name, name, range(start, end))
        places = [place for place in range(start, end) if not text[place].isspace()]
        return Word("".join(text[place] for place in places), name, places)


def _unit_ends(text: str, unit: Unit) -> list[int]:
    """For each character, where the unit that it belongs to ends."""
    if unit == "character":
        return list(range(1, len(text) + 1))
    ends = [0] * len(text)
    for start in reversed(range(len(text))):
        joined = start + 1 < len(text) and _inside(text[start]) and _inside(text[start + 1])
        ends[start] = ends[start + 1] if joined else start + 1
    return ends


def _inside(character: str) -> bool:
    """Part of a word as BERT sees words: neither space nor punctuation, every ASCII sign being punctuation."""
    if character.isascii():
        return character.isalnum()
    return not character.isspace() and not unicodedata.category(character).startswith("P")


def inside_word(text: str, place: int) -> bool:
    """Between two letters or digits, where no name may begin or end."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
