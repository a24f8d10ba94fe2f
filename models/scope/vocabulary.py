"""The words that the encoder knows, by the pieces in which it reads them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int
from tokenizers import Tokenizer

from models.scope.word_hashes import hash_words, powers
from models.scope.wordings.packed_tokens import PackedTokens

CONTINUATION = "##"  # prefix of the further pieces of a word
MIN_LETTERS = 6  # letters of a word that may be meant: shorter ones are too often other words


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

    def find_words_of(self, texts: PackedTokens) -> tuple[Int[np.ndarray, " word"], Int[np.ndarray, " word"]]:
        """Return the hash and the text of each word that is long enough to be meant."""
        lengths = texts.lengths[texts.lengths > 0]
        ends = lengths.cumsum()
        is_word = np.ones(len(texts.ids), np.bool_)
        is_word[ends - lengths] = is_word[ends - 1] = False  # the marks at both ends of a text
        rows = np.arange(len(texts)).repeat(texts.lengths)
        if not is_word.any():
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self.find_words(texts.ids[is_word].astype(np.int64), rows[is_word])

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
        parts = self.hashes[ids] * powers(int(offsets.max()) + 1)[offsets]
        hashes, n_letters = np.add.reduceat(parts, starts), np.add.reduceat(lengths, starts)
        is_long = n_letters >= MIN_LETTERS
        return hashes[is_long], rows[starts][is_long]
