"""Literals: figures, signs, codes, single letters and foreign words, which two questions must share in their order.

A language model takes neighbouring numbers for nearly the same, and so plan B and plan C, A12 and A12X, 4.2 and 2.4; it
hardly distinguishes words of scripts that the encoder was not trained on, and not at all characters that it does not
know. A wording that changes these changes the question, so the judge is not asked if they differ. Values are compared
in their one spelling (values.py). Initials and abbreviations (J. K., U.S.) do not count, since people write them in
different ways; nor does a symbol behind the end of the question.
"""

import re
import unicodedata
from collections.abc import Sequence
from hashlib import sha256

import torch
from errata.wire.wording import normalize_question
from jaxtyping import Int
from torch import Tensor

from models.scope.languages import is_latin
from models.scope.values import spell_values

CODE = r"[^\W_]*\d[^\W_]*"  # a word with a digit
VALUE = rf"-?\d+(?:[.:/]\d+)+[^\W_]*%?|-?\b{CODE}%?"
LETTER = r"(?<![\w'’.])[^\W\d_](?![\w'’.])"  # a letter by itself: plan B, vitamin C
LITERAL = re.compile(rf"(?P<value>{VALUE})|(?P<letter>{LETTER})|(?P<word>\w+)|(?P<symbol>[^\w\s])")
SUFFIX = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")  # suffixes that do not change which number is meant
SMALL_WORDS = {"a", "i"}
# Operators beside those of mathematics; they count only beside a value, a letter or another.
OPERATORS = frozenset("*\\^→←")
IGNORED = frozenset("°|~©®™")


def digest_literals(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest the literals of each question, in their order; 0 without any."""
    return torch.tensor(
        [digest_text(" ".join(find_literals(question))) for question in questions], dtype=torch.int64
    )


def digest_wordings(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest each question so that case, spaces and final punctuation do not count."""
    return torch.tensor(
        [digest_text(normalize_question(question)) for question in questions], dtype=torch.int64
    )


def find_literals(question: str) -> list[str]:
    """Return the literals of a question in their order, each in its one spelling."""
    text = spell_values(question)
    matches = list(LITERAL.finditer(text))
    kinds = ["word", *map(_kind, matches), "word"]
    end = max(map(text.rfind, "?!"))
    return [
        SUFFIX.sub("", match[0])
        for match, before, kind, after in zip(matches, kinds, kinds[1:], kinds[2:], strict=False)
        if kind in ("value", "letter", "foreign")
        or (kind == "operator" and {before, after} - {"word", "mark"})
        or (kind == "picture" and not 0 <= end < match.start())
    ]


def _kind(match: re.Match[str]) -> str:
    """Return what a token is: a value, a letter, a foreign word, an operator, a picture, or another word or mark."""
    token, kind = match[0], str(match.lastgroup)
    if kind in ("letter", "word"):
        return "foreign" if not is_latin(token) else "word" if token in SMALL_WORDS else kind
    if kind == "symbol":
        category = unicodedata.category(token)
        is_operator = category == "Sm" or token in OPERATORS
        is_picture = category in ("Sc", "So", "Co", "Cn")
        return (
            "mark" if token in IGNORED else "operator" if is_operator else "picture" if is_picture else "mark"
        )
    return kind


def digest_text(text: str) -> int:
    """Return 64 bits of the SHA-256 of a text; 0 for no text."""
    return digest_bytes(text.encode())


def digest_bytes(text: bytes) -> int:
    """Return `digest_text` of an encoded text."""
    return int.from_bytes(sha256(text).digest()[:8], "little", signed=True) if text else 0
