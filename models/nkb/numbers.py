"""What tells questions apart to the letter, as one number: who asks about project 7 does not ask about project 8.

To a language model neighbouring numbers mean nearly the same, and so do plan B and plan C; words of scripts that the
encoder was not trained on it hardly tells apart at all. No wording changes these without changing the question, so a
gate stays shut when they differ. Initials and abbreviations (J. K., U.S.) do not count: they are written in many ways.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from models.nkb.foreign import WORD, is_latin

NUMBER = re.compile(r"\d+")
LETTER = re.compile(r"(?<![\w'’.])[^\W\d_](?![\w'’.])")  # by itself: plan B, vitamin C
END = " ?!."
SMALL_WORDS = {"a", "i"}


def numbers(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Equal for questions with the same numbers, single letters and foreign words in any order; 0 without any."""
    return torch.tensor([_digest(question) for question in questions], dtype=torch.int64)


def _digest(question: str) -> int:
    found = sorted(_told_apart(unicodedata.normalize("NFKC", question).casefold().rstrip(END)))
    if not found:
        return 0
    return int.from_bytes(hashlib.sha256(" ".join(found).encode()).digest()[:8], "little", signed=True)


def _told_apart(question: str) -> Iterator[str]:
    yield from NUMBER.findall(question)
    yield from (
        letter for letter in LETTER.findall(question) if is_latin(letter) and letter not in SMALL_WORDS
    )
    yield from (word for word in WORD.findall(question) if not is_latin(word))
