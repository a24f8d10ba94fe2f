"""Words that differ in one slip: a letter left out, added, exchanged, or swapped with the next.

Whether it is one, or another name (Dalford, Walford), is told by the difference and the letters (`wordings/slips.py`).

The encoder reads a rare word piece by piece, and one wrong letter splits it into other pieces: the question is no
longer near the wording that it asks for. An unknown word is read as the only word of the wordings for which it may be
a slip.
"""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress

import numpy as np
from jaxtyping import Bool, Int
from tokenizers import Tokenizer
from torch import Tensor

from models.scope.readings import Tokens, unpack_tokens
from models.scope.wordings.block import PackedTokens
from models.scope.wordings.columns import RowIndex
from models.scope.wordings.slips import Slips

MIN_LETTERS = 6  # letters of a word that may be meant: shorter ones are too often other words
BASE = 0x5851F42D4C957F2D  # B of the polynomial over the letters of a word
CONTINUATION = "##"  # prefix of the further pieces of a word
WORDS_CACHED = 2_048  # words with cached hashes of all that resemble them, 4 kB each
MIN_CHARS = 5  # characters of a name: shorter ones that differ in a letter are mostly different names


def resembling(name: str) -> Iterator[str]:
    """Yield the names that differ from a folded name in one slip; digits are kept, for they distinguish names."""
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

    A word is identified by a polynomial over its letters, which is the same for a word in one piece and in several:
    h(w) = sum_i w_i B^i modulo 2^64. There is one writer at a time; readers need not wait for it.
    """

    def __init__(self, tokenizer: Tokenizer, slips: Slips) -> None:
        self._tokenizer, self._slips = tokenizer, slips
        self._index = RowIndex()

    @cached_property
    def _vocabulary(self) -> "Vocabulary":
        return Vocabulary.of(self._tokenizer)

    def add(self, wordings: PackedTokens, first: int) -> None:
        """Add the words of wordings in consecutive rows, from row `first` on."""
        lengths = wordings.lengths[wordings.lengths > 0]
        ends = lengths.cumsum()
        is_word = np.ones(len(wordings.ids), np.bool_)
        is_word[ends - lengths] = is_word[ends - 1] = False  # the marks at both ends of a text
        rows = np.arange(first, first + len(wordings)).repeat(wordings.lengths)
        if is_word.any():
            self._index.add(
                *self._vocabulary.find_words(wordings.ids[is_word].astype(np.int64), rows[is_word])
            )

    def repair(self, question: Tokens, is_read: Bool[Tensor, " row"]) -> str | None:
        """Return the question with its misspelt words corrected; None if no word is misspelt.

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
        candidates = self._find_resembling(word)
        options = {o for o in candidates if self._slips.is_slip(word, o) and self._has(o, is_read)}
        return options.pop() if len(options) == 1 else word

    def _find_resembling(self, word: str) -> Iterator[str]:
        """Return the words of any row, read or not, that differ from a word in one slip."""
        is_known = self._index.contains(_hash_resembling(word))
        return compress(resembling(word), is_known.tolist()) if is_known.any() else iter(())

    def _has(self, word: str, is_read: Tensor) -> bool:
        rows = self._index.rows_of(int(hash_words([word])[0]))
        return any(row < len(is_read) and bool(is_read[row]) for row in rows)

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


@dataclass(frozen=True)
class Vocabulary:
    """The pieces of a tokenizer, by id."""

    hashes: Int[np.ndarray, " piece"]  # hash of the letters of each piece
    lengths: Int[np.ndarray, " piece"]  # number of its letters
    continues: Bool[np.ndarray, " piece"]  # whether it continues the word of the piece before it

    @staticmethod
    @lru_cache(4)
    def of(tokenizer: Tokenizer) -> "Vocabulary":
        """Read the pieces of a tokenizer."""
        pieces = [str(tokenizer.id_to_token(number)) for number in range(tokenizer.get_vocab_size())]
        letters = [piece.removeprefix(CONTINUATION) for piece in pieces]
        continues = np.array([piece.startswith(CONTINUATION) for piece in pieces])
        return Vocabulary(hash_words(letters), np.array(list(map(len, letters))), continues)

    def find_words(
        self, ids: Int[np.ndarray, " token"], rows: Int[np.ndarray, " token"]
    ) -> tuple[Int[np.ndarray, " word"], Int[np.ndarray, " word"]]:
        """Return the hash and the row of each word that is long enough to be meant.

        Args:
            ids: Tokens of several texts, one text behind the other.
            rows: Row of the text of each token.
        """
        begins = ~self.continues[ids]
        begins[0] = True
        begins[1:] |= rows[1:] != rows[:-1]
        starts = np.flatnonzero(begins)
        lengths = self.lengths[ids]
        before = lengths.cumsum() - lengths  # letters before each token, of all texts
        offsets = before - before[starts].repeat(np.diff([*starts, len(ids)]))
        parts = self.hashes[ids] * _powers(int(offsets.max()) + 1)[offsets]
        hashes, n_letters = np.add.reduceat(parts, starts), np.add.reduceat(lengths, starts)
        is_long = n_letters >= MIN_LETTERS
        return hashes[is_long], rows[starts][is_long]


def hash_words(words: Sequence[str]) -> Int[np.ndarray, " word"]:
    """Return the polynomial of each word."""
    letters = np.array(words, dtype=np.str_)
    width = max(letters.dtype.itemsize // 4, 1)
    codes = np.zeros((len(words), width), np.int64)
    if letters.dtype.itemsize:
        codes[:] = letters.view(np.uint32).reshape(len(words), width)
    hashes: Int[np.ndarray, " word"] = (codes * _powers(width)).sum(1)  # wraps around
    return hashes


@lru_cache(WORDS_CACHED)
def _hash_resembling(word: str) -> Int[np.ndarray, " word"]:
    """Return the polynomials of the words that differ from a word in one slip; commits ask for the same ones."""
    return hash_words(list(resembling(word)))


@lru_cache(64)
def _powers(count: int) -> Int[np.ndarray, " power"]:
    """Return B^0, B^1, ... modulo 2^64."""
    return np.concatenate([np.ones(1, np.int64), np.full(count - 1, BASE, np.int64).cumprod()])
