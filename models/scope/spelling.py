"""Words that differ in one slip of the pen: a letter left out, added, exchanged, or swapped with the next.

The encoder reads a rare word piece by piece, and one wrong letter makes other pieces of it: the question is no longer
near the wording that it asks for. So a word that nobody uses is read as the only word of the wordings that it may be a
slip for.
"""

import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from jaxtyping import Bool
from tokenizers import Tokenizer
from torch import Tensor

from models.scope.readings import Tokens, unpack_tokens

MIN_LETTERS = 6  # letters of a word that may be meant: shorter ones are too often other words
MAX_RECENT = 4_096  # words that are not sorted yet
CONTINUATION = "##"  # beginning of the further pieces of a word
MIN_CHARS = 5  # shorter names that differ in a letter are mostly different names


def resembling(name: str) -> Iterator[str]:
    """Yield names that differ from a folded name in one slip; digits stay as they are, for they tell names apart."""
    if len(name) < MIN_CHARS:
        return
    for place in range(len(name) + 1):
        before, after = name[:place], name[place:]
        yield from (before + letter + after for letter in string.ascii_lowercase)
        if after and not after[0].isdigit():
            yield before + after[1:]
            yield from (
                before + letter + after[1:] for letter in string.ascii_lowercase if letter != after[0]
            )
        if len(after) > 1 and after[0] != after[1] and not (after[0].isdigit() or after[1].isdigit()):
            yield before + after[1] + after[0] + after[2:]


class Lexicon:
    """The words of all wordings, and the rows that have each: twelve bytes for each word of a wording.

    One writer at a time; readers need not wait for it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._sorted = np.empty(0, np.int64), np.empty(0, np.int32)  # hashes of words, rising, and rows
        self._recent: dict[int, list[int]] = defaultdict(list)
        self._n_recent = 0

    def add(self, wordings: Sequence[Tokens], first: int) -> None:
        """Add the words of wordings in consecutive rows, from row `first` on."""
        for row, tokens in enumerate(wordings, first):
            for pieces in self._split(tokens):
                if len(word := "".join(pieces)) >= MIN_LETTERS:
                    self._recent[hash(word)].append(row)
                    self._n_recent += 1
        if self._n_recent > MAX_RECENT:
            self._sort()

    def _sort(self) -> None:
        """Sort the recent words in; a reader meanwhile may find a row twice, and misses none."""
        pairs = [(word, row) for word, rows in self._recent.items() for row in rows]
        hashes, rows = (np.array(column) for column in zip(*pairs, strict=True))
        hashes = np.concatenate([self._sorted[0], hashes.astype(np.int64)])
        order = hashes.argsort(kind="stable")
        self._sorted = hashes[order], np.concatenate([self._sorted[1], rows.astype(np.int32)])[order]
        self._recent, self._n_recent = defaultdict(list), 0

    def repair(self, question: Tokens, is_read: Bool[Tensor, " row"]) -> str | None:
        """Return the question with its misspelt words put right; None where no word is misspelt.

        Only a word of several pieces may be misspelt, for the encoder has common words whole.

        Args:
            question: The question's tokens.
            is_read: Rows whose words may be meant.
        """
        words = self._split(question)
        repaired_words = [
            word if len(pieces) == 1 else self._repair(word, is_read)
            for pieces in words
            if (word := "".join(pieces))
        ]
        is_same = all("".join(pieces) == word for pieces, word in zip(words, repaired_words, strict=True))
        return None if is_same else " ".join(repaired_words)

    def _repair(self, word: str, is_read: Tensor) -> str:
        if len(word) < MIN_LETTERS - 1 or not word.isalpha() or self._has(word, is_read):
            return word
        options = {
            other for other in self._words_of_rows(list(resembling(word))) if self._has(other, is_read)
        }
        return options.pop() if len(options) == 1 else word

    def _words_of_rows(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words that any row has, read or not."""
        if not words:
            return
        hashes, sorted_hashes = np.fromiter(map(hash, words), np.int64, len(words)), self._sorted[0]
        is_known = np.zeros(len(words), bool)
        if len(sorted_hashes):
            places = sorted_hashes.searchsorted(hashes).clip(max=len(sorted_hashes) - 1)
            is_known = sorted_hashes[places] == hashes
        recent = self._recent
        yield from (
            word for word, is_sorted in zip(words, is_known, strict=True) if is_sorted or hash(word) in recent
        )

    def _has(self, word: str, is_read: Tensor) -> bool:
        hashes, rows = self._sorted
        start, end = (int(hashes.searchsorted(hash(word), side)) for side in ("left", "right"))
        known_rows = chain(self._recent.get(hash(word), ()), rows[start:end].tolist())
        return any(row < len(is_read) and bool(is_read[row]) for row in known_rows)

    def _split(self, tokens: Tokens) -> list[list[str]]:
        """Return the pieces of each word."""
        words: list[list[str]] = []
        for token in unpack_tokens(tokens)[1:-1]:
            piece = str(self._tokenizer.id_to_token(token))
            if piece.startswith(CONTINUATION) and words:
                words[-1].append(piece.removeprefix(CONTINUATION))
            else:
                words.append([piece])
        return words
