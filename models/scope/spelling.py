"""Words that differ in one slip: a letter left out, added, exchanged, or swapped with the next.

Whether it is one, or another name (Dalford, Walford), is told by the difference and the letters
(`wordings/slips.py`). The encoder reads a rare word piece by piece, and one wrong letter splits it into other pieces:
the question is no longer near the wording that it asks for. An unknown word is read as the only word of the wordings
for which it may be a slip.

"""

import string
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import compress

import numpy as np
from jaxtyping import Bool, Int
from tokenizers import Tokenizer
from torch import Tensor

from models.scope.readings import Tokens, unpack_tokens
from models.scope.vocabulary import CONTINUATION, MIN_LETTERS, Vocabulary
from models.scope.word_hashes import hash_words
from models.scope.wordings.packed_tokens import PackedTokens
from models.scope.wordings.row_index import RowIndex
from models.scope.wordings.slips import Slips

MIN_CHARS = 5  # characters of a name: shorter ones that differ in a letter are mostly different names
WORDS_CACHED = 2_048  # words with cached hashes of all that resemble them, 4 kB each
QUESTIONS_CACHED = 1_024  # questions with cached hashes of all that their words may be meant for, 5 kB each


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
        hashes, rows = self._vocabulary.find_words_of(wordings)
        self._index.add(hashes, first + rows)

    def find_dependent(
        self, questions: Sequence[Tokens], wordings: Sequence[Tokens]
    ) -> Bool[np.ndarray, " question"]:
        """Return whether the repair of each question may depend on whether these wordings are read."""
        words = self._vocabulary.find_words_of(PackedTokens.of(wordings))[0]
        hashes = [_hash_meant(self._tokenizer, question) for question in questions]
        owners = np.arange(len(hashes)).repeat(list(map(len, hashes)))
        n_common = np.bincount(owners, np.isin(np.concatenate(hashes), words), len(hashes))
        return n_common > 0

    def repair(self, question: Tokens, is_read: Bool[Tensor, " row"]) -> str | None:
        """Return the question with its misspelt words corrected; None if no word is misspelt.

        Only a word of several pieces may be misspelt, for the encoder has common words whole.

        Args:
            question: The question's tokens.
            is_read: Rows whose words may be meant.
        """
        words = _split(self._tokenizer, question)
        repaired_words = [
            self._repair(word, is_read) if _may_be_misspelt(pieces) else word
            for pieces in words
            if (word := "".join(pieces))
        ]
        is_same = all("".join(pieces) == word for pieces, word in zip(words, repaired_words, strict=True))
        return None if is_same else " ".join(repaired_words)

    def _repair(self, word: str, is_read: Tensor) -> str:
        if self._has(word, is_read):
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


def _split(tokenizer: Tokenizer, tokens: Tokens) -> list[list[str]]:
    """Return the pieces of each word."""
    words: list[list[str]] = []
    for token in unpack_tokens(tokens)[1:-1]:
        piece = str(tokenizer.id_to_token(token))
        if piece.startswith(CONTINUATION) and words:
            words[-1].append(piece.removeprefix(CONTINUATION))
        else:
            words.append([piece])
    return words


def _may_be_misspelt(pieces: Sequence[str]) -> bool:
    """Return whether a word is one of several pieces, long enough and of letters alone."""
    word = "".join(pieces)
    return len(pieces) > 1 and len(word) >= MIN_LETTERS - 1 and word.isalpha()


@lru_cache(WORDS_CACHED)
def _hash_resembling(word: str) -> Int[np.ndarray, " word"]:
    """Return the polynomials of the words that differ from a word in one slip; commits ask for the same ones."""
    return hash_words(list(resembling(word)))


@lru_cache(QUESTIONS_CACHED)
def _hash_meant(tokenizer: Tokenizer, question: Tokens) -> Int[np.ndarray, " word"]:
    """Return the polynomials of a question's words that may be misspelt, and of all that these may be meant for."""
    words = ["".join(pieces) for pieces in _split(tokenizer, question) if _may_be_misspelt(pieces)]
    return np.concatenate([hash_words(words), *map(_hash_resembling, words)])
