"""Tells a slip from another name that a letter tells apart, by how the words differ and how usual their letters are.

A letter doubled or swapped with the next is hardly ever a name's difference, another first letter hardly ever a slip. A
slip leaves letters that seldom follow one another; another name reads as well as the first. The weights are learned
(models/training/scope/words.py); the letters are counted in the words of the encoder's vocabulary.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log

from tokenizers import Tokenizer

from models.confidence import Confidence

VOWELS = frozenset("aeiouy")
BEGIN, END = "^^", "$"
RARE, N_LETTERS = 0.3, 27  # count of letters that never follow one another; letters that may follow
SHORTEST = 3  # letters of a word that is counted
KINDS = ("swap", "double", "omission", "addition", "vowel", "consonant", "other")
NO_SLIPS = Confidence((), 0.0, 1.0)


class Letters:
    """How usual the letters of a word are, after the two before each, in the words of a vocabulary."""

    def __init__(self, words: Sequence[str]) -> None:
        self._threes, self._twos = Counter[str](), Counter[str]()
        for word in words:
            for three in _threes(word):
                self._threes[three] += 1
                self._twos[three[:2]] += 1

    @staticmethod
    @lru_cache(4)
    def of(tokenizer: Tokenizer) -> "Letters":
        """Count the letters of a tokenizer's whole words."""
        return Letters([word for word in tokenizer.get_vocab() if len(word) >= SHORTEST and word.isalpha()])

    def measure(self, word: str) -> float:
        """Return the log-probability of the letters."""
        return sum(
            log((self._threes[three] + RARE) / (self._twos[three[:2]] + RARE * N_LETTERS))
            for three in _threes(word)
        )


class Slips:
    """Decides whether a word is a slip for a name. Words are in lower case.

    Args:
        tokenizer: Has the words in which letters are counted.
        scale: Learned weights of what `describe` returns.
    """

    def __init__(self, tokenizer: Tokenizer, scale: Confidence) -> None:
        self._letters, self.scale = Letters.of(tokenizer), scale

    def is_slip(self, word: str, name: str) -> bool:
        """Return whether a word, one slip from a name, is more probably a slip for it than another name."""
        if word[0] != name[0] or not self.scale.weights:
            return False
        return self.scale.score(self.describe(word, name)) >= self.scale.threshold

    def describe(self, word: str, name: str) -> tuple[float, ...]:
        """Return how two words differ: the kind, another last letter, how much more usual the name's letters are."""
        kind = find_kind(word, name)
        unusual = self._letters.measure(name) - self._letters.measure(word)
        return (
            *(float(kind == name_of_kind) for name_of_kind in KINDS),
            float(word[-1] != name[-1]),
            unusual,
        )


def find_kind(word: str, name: str) -> str:
    """Return how a word differs from a name in one slip, one of KINDS."""
    place = next((place for place, (a, b) in enumerate(zip(word, name, strict=False)) if a != b), None)
    place = min(len(word), len(name)) if place is None else place
    if len(word) == len(name):
        if word[place + 1 : place + 2] != name[place + 1 : place + 2]:
            return "swap"
        is_vowel = [letter in VOWELS for letter in (word[place], name[place])]
        return "vowel" if all(is_vowel) else "other" if any(is_vowel) else "consonant"
    longer = max(word, name, key=len)
    if place and longer[place] == longer[place - 1]:
        return "double"
    return "omission" if longer is name else "addition"


def _threes(word: str) -> list[str]:
    text = f"{BEGIN}{word}{END}"
    return [text[place - 2 : place + 1] for place in range(2, len(text))]
