"""Polynomials over the letters of words, by which a word is found whatever its pieces."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Int

BASE = 0x5851F42D4C957F2D  # B of the polynomial over the letters of a word


def hash_words(words: Sequence[str]) -> Int[np.ndarray, " word"]:
    """Return the polynomial of each word."""
    letters = np.array(words, dtype=np.str_)
    width = max(letters.dtype.itemsize // 4, 1)
    codes = np.zeros((len(words), width), np.int64)
    if letters.dtype.itemsize:
        codes[:] = letters.view(np.uint32).reshape(len(words), width)
    hashes: Int[np.ndarray, " word"] = (codes * powers(width)).sum(1)  # wraps around
    return hashes


@lru_cache(64)
def powers(count: int) -> Int[np.ndarray, " power"]:
    """Return B^0, B^1, ... modulo 2^64."""
    return np.concatenate([np.ones(1, np.int64), np.full(count - 1, BASE, np.int64).cumprod()])
