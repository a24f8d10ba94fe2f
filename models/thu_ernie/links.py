"""The result of an entity linker: stretches of a text, the entities that they name, and scores.

Zhang et al. (arXiv:1905.07129), section 4.1, take links from TAGME and keep those above a threshold. Here a linker is
anything that gives `Link`s; the one of this file looks forms up in a dictionary, longest match first.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

# A word, a character of a script that writes no spaces (kana, Han, Hangul), or a sign.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_]+|[^\w\s]|_")
Form = tuple[str, ...]  # Words of a name, without regard to case


class InvalidLink(ValueError):
    """A link that marks nothing in its text. The sentence names the link."""


@dataclass(frozen=True)
class Link:
    """A mention of an entity.

    Attributes:
        entity: Name of the entity in the table, such as a Wikidata id.
        begin: Place of the mention's first character in its text.
        end: Place behind the last.
        score: How sure the linker is; a higher score is surer.
    """

    entity: str
    begin: int
    end: int
    score: float

    def check(self, text: str) -> None:
        """Refuse a link that marks nothing.

        Raises:
            InvalidLink: It does not lie in the text, or its score is not finite.
        """
        if not 0 <= self.begin < self.end <= len(text):
            raise InvalidLink(
                f"the link of {self.entity} marks characters {self.begin} to {self.end}, and the text has {len(text)}"
            )
        if not math.isfinite(self.score):
            raise InvalidLink(f"the link of {self.entity} at {self.begin} has the score {self.score}")


@dataclass(frozen=True)
class Rejection:
    """A link that is not used, and why, in words for the person who asked."""

    link: Link
    reason: str


@dataclass(frozen=True)
class Sense:
    """A meaning of a form, and its frequency from 0 to 1."""

    entity: str
    score: float


@dataclass(frozen=True)
class Lexicon:
    """A dictionary of forms. Immutable: an edit gives a new one that shares the entries it leaves alone."""

    senses: Mapping[Form, Sense] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> "Lexicon":
        """Read the authors' `entity_map.txt`: a title, a tab, the entity. Each title has the score 1.

        Raises:
            ValueError: A line is not of this form; the sentence names it.
        """
        senses = {}
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                title, tab, entity = line.rstrip("\n").partition("\t")
                if not tab or not entity.strip() or not words_of(title):
                    raise ValueError(f"{path}, line {number}: write a title, a tab and an entity")
                senses[words_of(title)] = Sense(entity.strip(), 1.0)
        return Lexicon(senses)

    def add(self, form: str, entity: str, score: float = 1.0) -> "Lexicon":
        """Return a lexicon in which the form names this entity, whatever it named before."""
        if not words_of(form):
            raise ValueError(f"{form!r} has no word that a text could name an entity with")
        return Lexicon({**self.senses, words_of(form): Sense(entity, score)})

    def remove(self, form: str) -> "Lexicon":
        """Return a lexicon in which the form names nothing."""
        return Lexicon({words: sense for words, sense in self.senses.items() if words != words_of(form)})

    def link(self, text: str, threshold: float = 0.0) -> tuple[list[Link], list[Rejection]]:
        """Find the mentions of a text from left to right, the longest form first.

        Args:
            text: Any text.
            threshold: Score that a link has to exceed; the authors take 0.3, and 0.4 for TACRED.

        Returns:
            The links above the threshold, and those below it.
        """
        links, rejections = [], []
        for link in self._find(text):
            if link.score > threshold:
                links.append(link)
            else:
                rejections.append(Rejection(link, f"its score {link.score:g} is not above {threshold:g}"))
        return links, rejections

    def _find(self, text: str) -> Iterable[Link]:
        spans = [match.span() for match in WORD.finditer(text)]
        words = [text[begin:end].casefold() for begin, end in spans]
        place = 0
        while place < len(words):
            for length in range(min(self._longest, len(words) - place), 0, -1):
                sense = self.senses.get(tuple(words[place : place + length]))
                if sense is not None:
                    yield Link(sense.entity, spans[place][0], spans[place + length - 1][1], sense.score)
                    place += length - 1
                    break
            place += 1

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.senses), default=0)


def words_of(form: str) -> Form:
    """Return the words of a name as a lexicon compares them."""
    return tuple(WORD.findall(form.casefold()))
