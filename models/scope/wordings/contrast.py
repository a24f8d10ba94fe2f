"""What two questions differ in, by their words: a judge that reads both still takes a name it never saw for another.

Looked at are the words that only one text has: how surely each is part of a name, whether it stands beside a part of a
name that both have (Anna Berg, Anna Lind), and how much of each text's names the other has; and of the words that both
have, whether they stand in one order. What these signs add to the log-odds of a pair is a part of the calibration.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

import torch
from jaxtyping import Float
from torch import Tensor

from models.scope.readings import Tokens
from models.scope.wordings.names import NAME, Word, WordReader, Words

GAP = ()  # place of words that the other text lacks
ALIKE = 0.6  # share of equal letters from which two words count as alike in spelling
SCALE = 5  # words that count as one
NO_NAME = 0.3  # words of a name below which a text names nothing
SIGNS = (
    "words of several pieces", "one frame", "names", "a name in one", "parts of names", "a part of a name in one",
    "spelling", "least of a name in common", "most of a name in common", "other words", "length", "common words",
    "names in another order", "words in another order",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """The words of a text that the other text lacks."""

    has_pieces: bool  # whether one of them has several pieces
    spelling: str  # the letters of the one that is most surely part of a name
    # How surely that one is; how surely one is part of a name that both have in part; the share of the text's
    # names that both have; how many words there are
    signs: tuple[float, ...]


class Contrast:
    """The comparison of two texts by their words."""

    def __init__(self, reader: WordReader) -> None:
        self.reader = reader

    def __call__(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Float[Tensor, "pair sign"]:
        """Return the signs of each pair, in the order of SIGNS; the order of its texts makes no difference."""
        rows = [self._compare(*map(self.reader.read, pair)) for pair in pairs]
        return torch.tensor(rows, dtype=torch.float32).reshape(-1, len(SIGNS))

    def differs_in_names(self, first: Tokens, second: Tokens) -> bool:
        """Return whether two texts have the same words but for those that are part of names."""
        texts = map(self.reader.read, (first, second))
        words = [
            {word for word, name in zip(text.words, text.names, strict=True) if name < NAME} for text in texts
        ]
        return words[0] == words[1] != set()

    def keeps_order(self, first: Tokens, second: Tokens) -> bool:
        """Return whether the names that both texts have stand in one order, and the words, if all are the same."""
        texts = self.reader.read(first), self.reader.read(second)
        return not any(self._find_turns(*texts))

    def _find_turns(self, first: Words, second: Words) -> tuple[bool, bool]:
        """Return whether common names are in another order, and whether two texts are all the same words in another."""
        names = [
            [word for word, name in zip(text.words, text.names, strict=True) if name >= NAME]
            for text in (first, second)
        ]
        orders = [[word for word in dict.fromkeys(names[side]) if word in names[1 - side]] for side in (0, 1)]
        words = [
            [word for word in text.words if self.reader.spell(word).isalnum()] for text in (first, second)
        ]
        return orders[0] != orders[1], words[0] != words[1] and sorted(words[0]) == sorted(words[1])

    def _compare(self, first: Words, second: Words) -> Sequence[float]:
        common = set(first.words) & set(second.words)
        sides = self._look(first, common), self._look(second, common)
        names, parts, shares, counts = (
            sorted(pair) for pair in zip(*(side.signs for side in sides), strict=True)
        )
        return (
            float(all(side.has_pieces for side in sides)),
            float(counts[0] > 0 and _frame(first.words, common) == _frame(second.words, common)),
            names[0],
            names[1] - names[0],
            parts[0],
            parts[1] - parts[0],
            names[0] * _likeness(*(side.spelling for side in sides)),
            *shares,
            counts[0],
            abs(len(first.words) - len(second.words)) / SCALE,
            len(common) / SCALE,
            *map(float, self._find_turns(first, second)),
        )

    def _look(self, text: Words, common: Set[Word]) -> Side:
        """Look at the words of a text that are not among the common ones."""
        words, names = text.words, text.names
        places = [place for place, word in enumerate(words) if word not in common]
        total = sum(names)
        share = 1 - sum(names[place] for place in places) / total if total > NO_NAME else 1.0
        if not places:
            return Side(False, "", (0.0, 0.0, share, 0.0))
        parts = [
            names[place] * names[near]
            for place in places
            for near in (place - 1, place + 1)
            if 0 <= near < len(words) and words[near] in common
        ]
        name = max(places, key=lambda place: names[place])
        return Side(
            any(len(words[place]) > 1 for place in places),
            self.reader.spell(words[name]),
            (names[name], max(parts, default=0.0), share, len(places) / SCALE),
        )


def _likeness(first: str, second: str) -> float:
    """Return how alike two words are spelt, 0 below ALIKE."""
    ratio = SequenceMatcher(None, first, second).ratio() if first and second else 0.0
    return max(0.0, ratio - ALIKE) / (1 - ALIKE)


def _frame(words: Sequence[Word], common: Set[Word]) -> list[Word]:
    """Return the words of a text with one gap for each run of those that the other text lacks."""
    frame: list[Word] = []
    for word in words:
        if word in common:
            frame.append(word)
        elif not frame or frame[-1] != GAP:
            frame.append(GAP)
    return frame
