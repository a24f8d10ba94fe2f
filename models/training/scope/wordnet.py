"""Words with the same role and another meaning: antonyms, and sisters under one more general word; and synonyms.

Miller, WordNet (Communications of the ACM 38, 1995), version 3.0, as Debian's `wordnet-base` has it (install.sh).
"""

from collections import defaultdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path("/usr/share/wordnet")
FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
LEXICOGRAPHER = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # part of speech in a sense key
ANTONYM, HYPERNYM, HYPONYM = "!", "@", "~"
CACHE_SIZE = 1 << 16
MIN_LETTERS = 4  # letters of a noun that has synonyms; shorter ones have too many meanings

Synset = tuple[str, str]  # part of speech, offset


class Pointer(NamedTuple):
    """A pointer between words, whose numbers begin at 1; 0 stands for all."""

    symbol: str
    synset: Synset
    source: int
    target: int


class WordNet:
    """The installed WordNet.

    Raises:
        FileNotFoundError: It is not installed.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._words: dict[Synset, list[str]] = {}
        self._pointers: dict[Synset, list[Pointer]] = {}
        for name, pos in FILES.items():
            for line in self._lines(f"data.{name}"):
                self._add(pos, line.split(" | ")[0].split())

    def _add(self, pos: str, fields: list[str]) -> None:
        """Add a line of a data file: offset, _, _, number of words, the words, number of pointers, the pointers."""
        n_words = int(fields[3], 16)
        place = 4 + 2 * n_words
        starts = range(place + 1, place + 1 + 4 * int(fields[place]), 4)
        synset = pos, fields[0]
        self._words[synset] = [fields[4 + 2 * n].lower().partition("(")[0] for n in range(n_words)]
        self._pointers[synset] = [
            Pointer(
                fields[at],
                (fields[at + 2].replace("s", "a"), fields[at + 1]),
                int(fields[at + 3][:2], 16),
                int(fields[at + 3][2:], 16),
            )
            for at in starts
        ]

    @cached_property
    def _senses(self) -> dict[str, list[Synset]]:
        senses: dict[str, list[Synset]] = defaultdict(list)
        for name, pos in FILES.items():
            for line in self._lines(f"index.{name}"):
                fields = line.split()
                senses[fields[0]] += [(pos, offset) for offset in fields[-int(fields[2]) :]]
        return senses

    @cached_property
    def _counts(self) -> dict[tuple[str, str], int]:
        """The frequency of each word and part of speech."""
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for line in self._lines("cntlist.rev"):
            key, _, count = line.split()
            word, _, rest = key.partition("%")
            counts[word, LEXICOGRAPHER[rest[0]]] += int(count)
        return counts

    def __contains__(self, word: str) -> bool:
        return word in self._senses

    @lru_cache(CACHE_SIZE)  # noqa: B019  one WordNet lives as long as its training
    def replacements(self, word: str) -> tuple[list[str], list[str]]:
        """Return antonyms and sisters of the word's commonest senses, if they are common words."""
        senses = [synset for synset in self._senses.get(word, []) if synset[0] == self._likeliest(word)][:2]
        antonyms = {
            self._words[pointer.synset][pointer.target - 1]
            for synset in senses
            for pointer in self._pointers[synset]
            if pointer.symbol == ANTONYM and self._words[synset][pointer.source - 1] == word
        }
        sisters = {sister for synset in senses[:1] for sister in self._sisters(synset)}
        synonyms = {other for synset in self._senses.get(word, []) for other in self._words[synset]}
        return self._common(antonyms, word), self._common(sisters - synonyms, word)

    @lru_cache(CACHE_SIZE)  # noqa: B019  one WordNet lives as long as its training
    def synonyms(self, noun: str) -> list[str]:
        """Return common nouns whose commonest sense is the noun's commonest sense; none if it is rather a verb."""
        first = self._first_sense(noun)
        if first is None or first[0] != "n" or len(noun) < MIN_LETTERS:
            return []
        return self._common(
            {other for other in self._words[first] if self._first_sense(other) == first}, noun
        )

    def _first_sense(self, word: str) -> Synset | None:
        return next(
            (sense for sense in self._senses.get(word, []) if sense[0] == self._likeliest(word)), None
        )

    def _likeliest(self, word: str) -> str:
        """Return the part of speech that the word has most often."""
        return max("nvar", key=lambda pos: self._counts.get((word, pos), 0))

    def _sisters(self, synset: Synset) -> list[str]:
        return [
            word
            for up in self._pointers[synset]
            if up.symbol == HYPERNYM
            for down in self._pointers[up.synset]
            if down.symbol == HYPONYM and down.synset != synset
            for word in self._words[down.synset]
        ]

    def _common(self, words: set[str], word: str) -> list[str]:
        return sorted(
            other
            for other in words
            if other.isalpha() and other != word and any(self._counts.get((other, pos)) for pos in "nvar")
        )

    def _lines(self, name: str) -> list[str]:
        lines = (self._folder / name).read_text("utf-8").splitlines()
        return [line for line in lines if not line.startswith("  ")]
