"""Words with the same role and another meaning: antonyms, and sisters under one more general word; and synonyms.

Miller, WordNet (Communications of the ACM 38, 1995), version 3.0, as Debian's `wordnet-base` has it (install.sh).
"""

from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path

FOLDER = Path("/usr/share/wordnet")
FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
LEXICOGRAPHER = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # part of speech in a sense key
ANTONYM, HYPERNYM, HYPONYM = "!", "@", "~"
CACHE_SIZE = 1 << 16
MIN_LETTERS = 4  # letters of a noun that has synonyms; shorter ones have too many meanings

Synset = tuple[str, str]  # part of speech, offset


class WordNet:
    """The WordNet that is installed in a folder; FileNotFoundError if there is none."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._words: dict[Synset, list[str]] = {}
        # Kind of a pointer, its target, and the places of the two words that it joins, in two hexadecimal digits each
        self._pointers: dict[Synset, list[tuple[str, Synset, str]]] = {}
        self._senses: dict[str, list[Synset]] = defaultdict(list)
        self._counts = Counter[tuple[str, str]]()  # frequency of each word and part of speech
        for name, pos in FILES.items():
            for fields in self._rows(f"data.{name}"):
                self._add((pos, fields[0]), fields)
            for fields in self._rows(f"index.{name}"):
                self._senses[fields[0]] += [(pos, offset) for offset in fields[-int(fields[2]) :]]
        for key, _, count in self._rows("cntlist.rev"):
            word, _, rest = key.partition("%")
            self._counts[word, LEXICOGRAPHER[rest[0]]] += int(count)

    def _rows(self, name: str) -> list[list[str]]:
        lines = (self._folder / name).read_text("utf-8").splitlines()
        return [line.partition(" | ")[0].split() for line in lines if not line.startswith("  ")]

    def _add(self, synset: Synset, fields: list[str]) -> None:
        """Add a line of a data file: offset, _, _, number of words, the words, number of pointers, the pointers."""
        end = 4 + 2 * int(fields[3], 16)
        self._words[synset] = [word.lower().partition("(")[0] for word in fields[4:end:2]]
        parts = (fields[at : at + 4] for at in range(end + 1, end + 1 + 4 * int(fields[end]), 4))
        self._pointers[synset] = [
            (symbol, (pos.replace("s", "a"), offset), places) for symbol, offset, pos, places in parts
        ]

    def __contains__(self, word: str) -> bool:
        return word in self._senses

    @lru_cache(CACHE_SIZE)  # noqa: B019  one WordNet lives as long as its training
    def replacements(self, word: str) -> tuple[list[str], list[str]]:
        """Return antonyms and sisters of the word's commonest senses, if they are common words."""
        senses = self._commonest_senses(word)
        antonyms = {
            self._words[target][int(places[2:], 16) - 1]
            for synset in senses[:2]
            for symbol, target, places in self._pointers[synset]
            if symbol == ANTONYM and self._words[synset][int(places[:2], 16) - 1] == word
        }
        sisters = {sister for synset in senses[:1] for sister in self._sisters(synset)}
        synonyms = {other for synset in self._senses.get(word, []) for other in self._words[synset]}
        return self._common(antonyms, word), self._common(sisters - synonyms, word)

    @lru_cache(CACHE_SIZE)  # noqa: B019  one WordNet lives as long as its training
    def synonyms(self, noun: str) -> list[str]:
        """Return common nouns whose commonest sense is the noun's commonest sense; none if it is rather a verb."""
        first = self._commonest_senses(noun)[:1]
        if not first or first[0][0] != "n" or len(noun) < MIN_LETTERS:
            return []
        return self._common(
            {w for w in self._words[first[0]] if self._commonest_senses(w)[:1] == first}, noun
        )

    def _commonest_senses(self, word: str) -> list[Synset]:
        """Return the senses in the part of speech that the word has most often."""
        commonest = max("nvar", key=lambda pos: self._counts[word, pos])
        return [synset for synset in self._senses.get(word, []) if synset[0] == commonest]

    def _sisters(self, synset: Synset) -> list[str]:
        return [
            word
            for symbol, up, _ in self._pointers[synset]
            if symbol == HYPERNYM
            for kind, down, _ in self._pointers[up]
            if kind == HYPONYM and down != synset
            for word in self._words[down]
        ]

    def _common(self, words: set[str], word: str) -> list[str]:
        return sorted(
            w for w in words if w.isalpha() and w != word and any(self._counts[w, p] for p in "nvar")
        )
