"""Which words of a text are part of a name, by the embeddings of the word and of its neighbours.

Nothing is read for it: a word's log-odds are a sum of numbers that each piece has for each of its places, which is
learned (models/training/scope/words.py) and multiplied out once for the whole vocabulary. "Council" is a part of a name
in "the mayor of American Craft Council", and none in "who sits in the council".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from models.scope.readings import Tokens, unpack_tokens

CONTINUATION = "##"  # beginning of a piece that is not the first of its word
NAME = 0.5  # probability from which a word is part of a name
AROUND = 2  # words on either side that count
N_PLACES = 2 * AROUND + 1
N_FLAGS = 2  # whether a word has several pieces, and whether the text has no word there
TEXTS_CACHED = 16_384  # 1 kB each

Word = tuple[int, ...]
NO_WORD: Word = ()  # stands around a text


@dataclass(frozen=True)
class NameWeights:
    """The learned numbers: a row for each place around a word, of its vector and its flags; and the bias."""

    places: Sequence[Sequence[float]] = ()
    bias: float = 0.0


NO_NAMES = NameWeights()  # no word is part of a name


@dataclass(frozen=True)
class Words:
    """The words of a text, and the probability of each to be part of a name."""

    words: Sequence[Word]
    names: Sequence[float]


class WordReader:
    """Reads the words of texts; recent ones come from a cache.

    Args:
        tokenizer: Splits texts into pieces.
        vectors: The embedding of each piece.
        weights: The learned numbers; without any, no word is part of a name.
    """

    def __init__(
        self, tokenizer: Tokenizer, vectors: Float[Tensor, "piece width"], weights: NameWeights
    ) -> None:
        vocabulary = tokenizer.get_vocab()
        self._spellings = {id: piece.removeprefix(CONTINUATION) for piece, id in vocabulary.items()}
        self._continuations = frozenset(
            id for piece, id in vocabulary.items() if piece.startswith(CONTINUATION)
        )
        self._bias = weights.bias
        if weights.places:
            places = torch.tensor(weights.places)
            self._of_pieces = (vectors.detach().float().cpu() @ places[:, :-N_FLAGS].T).numpy()
            self._of_several, self._of_none = places[:, -N_FLAGS:].numpy().T
        self._is_learned = bool(weights.places)
        self.read = lru_cache(TEXTS_CACHED)(self._read)

    def spell(self, word: Word) -> str:
        """Return the letters of a word."""
        return "".join(self._spellings[piece] for piece in word)

    def _read(self, tokens: Tokens) -> Words:
        words = list(join_pieces(unpack_tokens(tokens)[1:-1], self._continuations))
        return Words(words, self._find_names(words))

    def _find_names(self, words: Sequence[Word]) -> Sequence[float]:
        if not words or not self._is_learned:
            return [0.0] * len(words)
        edge = [self._of_none] * AROUND
        inner = [self._of_pieces[list(word)].mean(0) + (len(word) > 1) * self._of_several for word in words]
        rows = np.stack([*edge, *inner, *edge])
        log_odds = self._bias + sum(rows[place : place + len(words), place] for place in range(N_PLACES))
        names = 1 / (1 + np.exp(-log_odds))
        return [
            float(name) if self.spell(word).isalnum() else 0.0
            for name, word in zip(names, words, strict=True)
        ]


def join_pieces(ids: Sequence[int], continuations: frozenset[int]) -> Iterator[Word]:
    """Yield the words of a text as tuples of pieces."""
    word: list[int] = []
    for piece in ids:
        if word and piece not in continuations:
            yield tuple(word)
            word = []
        word.append(piece)
    if word:
        yield tuple(word)
