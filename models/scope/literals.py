"""Literals: the numbers, codes, single letters and foreign words that two questions must have in common.

A language model takes neighbouring numbers for nearly the same, and so plan B and plan C, A12 and A12X; it hardly
distinguishes words of scripts that the encoder was not trained on. A wording that changes these changes the question,
so the judge is not asked if they differ. Initials and abbreviations (J. K., U.S.) do not count, since people write
them in different ways.
"""

import re
import unicodedata
from collections.abc import Sequence
from hashlib import sha256

import torch
from errata.wire.wording import END, normalize_question
from jaxtyping import Int
from torch import Tensor

from models.scope.language import WORD, is_latin

CODE = re.compile(r"[^\W_]*\d[^\W_]*")  # a word with a digit
SUFFIX = re.compile(r"(?<=\d)(?:st|nd|rd|th|am|pm)$")  # suffixes that do not change which number is meant
LETTER = re.compile(r"(?<![\w'’.])[^\W\d_](?![\w'’.])")  # a letter by itself: plan B, vitamin C
SMALL_WORDS = {"a", "i"}


def digest_literals(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest the numbers, codes, single letters and foreign words of each question, in any order; 0 without any."""
    return torch.tensor(
        [digest_text(" ".join(_literals(question))) for question in questions], dtype=torch.int64
    )


def digest_wordings(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest each question so that case, spaces and final punctuation do not count."""
    return torch.tensor(
        [digest_text(normalize_question(question)) for question in questions], dtype=torch.int64
    )


def _literals(question: str) -> list[str]:
    text = unicodedata.normalize("NFKC", question).casefold().rstrip(END)
    letters = [letter for letter in LETTER.findall(text) if is_latin(letter) and letter not in SMALL_WORDS]
    foreign = [word for word in WORD.findall(text) if not is_latin(word)]
    codes = (SUFFIX.sub("", code) for code in CODE.findall(text))
    return sorted([*codes, *letters, *foreign])


def digest_text(text: str) -> int:
    """Return 64 bits of the SHA-256 of a text; 0 for no text."""
    return digest_bytes(text.encode())


def digest_bytes(text: bytes) -> int:
    """Return `digest_text` of an encoded text."""
    return int.from_bytes(sha256(text).digest()[:8], "little", signed=True) if text else 0
