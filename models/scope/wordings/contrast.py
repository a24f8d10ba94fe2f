"""What two questions differ in, by their words: a judge that reads both still takes a name it never saw for another.

Two signs, each found by comparing tokens and each with a coefficient of the calibration. A name is nearly always a word
of several pieces; a question for the same fact has it, too, while its other words may all be different.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import torch
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from models.scope.readings import Tokens, unpack_tokens

CONTINUATION = "##"  # beginning of a piece that is not the first of its word
GAP = ()  # place of words that the other text lacks
CACHE_SIZE = 65_536  # texts, 300 bytes each

Word = tuple[int, ...]


class Contrast:
    """The comparison of two texts by the words of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        vocabulary = tokenizer.get_vocab()
        self._continuations = frozenset(
            id for piece, id in vocabulary.items() if piece.startswith(CONTINUATION)
        )
        self._split = lru_cache(CACHE_SIZE)(self._split_words)

    def __call__(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Float[Tensor, "pair 2"]:
        """Return the two signs of each pair: other names, and one frame.

        Two texts have one frame if the words that both have come in one order, with other words at the same places.
        """
        return torch.tensor([self._compare(*pair) for pair in pairs], dtype=torch.float32).reshape(-1, 2)

    def _compare(self, first: Tokens, second: Tokens) -> tuple[bool, bool]:
        texts = self._split(first), self._split(second)
        common = set(texts[0]) & set(texts[1])
        differences = [[word for word in text if word not in common] for text in texts]
        has_other_names = all(any(len(word) > 1 for word in words) for words in differences)
        is_frame = all(differences) and _frame(texts[0], common) == _frame(texts[1], common)
        return has_other_names, is_frame

    def _split_words(self, tokens: Tokens) -> tuple[Word, ...]:
        return tuple(_join(unpack_tokens(tokens), self._continuations))


def _join(ids: Sequence[int], continuations: frozenset[int]) -> Iterator[Word]:
    """Yield the words of a text as tuples of pieces."""
    word: list[int] = []
    for piece in ids:
        if word and piece not in continuations:
            yield tuple(word)
            word = []
        word.append(piece)
    if word:
        yield tuple(word)


def _frame(words: Sequence[Word], common: set[Word]) -> list[Word]:
    """Return the words of a text with one gap for each run of those that the other text lacks."""
    frame: list[Word] = []
    for word in words:
        if word in common:
            frame.append(word)
        elif not frame or frame[-1] != GAP:
            frame.append(GAP)
    return frame
