"""What a question names that an edit's wording does not: who asks about Falcon Lite does not ask about Falcon.

A name that is longer by a word reads nearly as the shorter one does, so a gate would mostly open for it.
Here every name in a question has to stand in the wording that the gate was made of. The other way round it need not:
a question may leave out a part of the name. Words are names where they are written as such, with a capital inside of
a sentence; with a digit; and Roman numerals. In Headlines, without any lower case and in another language capitals tell
nothing.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.nkb.foreign import is_in_another_language

MOST_WORDS = 32  # words of one question that are compared; a wording with more restricts nothing
TOKEN = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*|[.!?:]")
POSSESSIVE = re.compile(r"['’]s?$")
STOPS = (".", "!", "?", ":")
SHORT = 4  # letters up to which capitals are no name (TV, CEO), and a word has to agree in all of them
LOWER = re.compile(r"[^\W\d_]{4,}|is|was|are|were|be|do|did|does|has|had|have|can|will")  # in no headline
ROMAN = re.compile(r"(?=[ivx]{2})x{0,3}(?:ix|iv|v?i{0,3})")  # from II; I and V may be words, or initials
TITLES = frozenset(
    re.findall(
        r"\w+",
        "mr mrs ms dr sir lord lady king queen prince princess pope president professor saint st "
        "inc ltd co corp llc plc",
    )
)
KEPT = 1 << 16  # words whose codes are kept


def words(questions: Sequence[str]) -> Int[Tensor, "batch word"]:
    """The words of each question, names with a minus, then zeros. A slip in the middle of a long word does not tell."""
    rows = torch.zeros(len(questions), MOST_WORDS, dtype=torch.int32)
    for row, question in zip(rows, questions, strict=True):
        found = list(dict.fromkeys(_words(unicodedata.normalize("NFKC", question))))[:MOST_WORDS]
        row[: len(found)] = torch.tensor(found, dtype=torch.int32)
    return rows


def covers(wordings: Int[Tensor, "pair word"], asked: Int[Tensor, "pair word"]) -> Bool[Tensor, " pair"]:
    """Whether all names of the one are words of the other, or that has no words or too many to compare."""
    known = wordings.abs()
    there = (asked.abs()[:, :, None] == known[:, None, :]).any(-1)
    free = (known[:, 0] == 0) | (known[:, -1] != 0)
    return free | (there | (asked >= 0)).all(-1)


def _words(question: str) -> Iterator[int]:
    tokens = TOKEN.findall(question)
    is_sentence = any(one.islower() and LOWER.fullmatch(one) for one in tokens)
    tells = is_sentence and not is_in_another_language(question)
    before = STOPS[0]
    for token in tokens:
        if token not in STOPS:
            word = POSSESSIVE.sub("", token)
            is_name = _is_numbered(word) or (tells and before not in STOPS and _is_written_as_name(word))
            yield -_code(word) if is_name else _code(word)
        before = token


def _is_numbered(word: str) -> bool:
    """Arabic numbers by themselves are compared elsewhere (numbers.py)."""
    has_digit = not word.isdigit() and any(one.isdigit() for one in word)
    return has_digit or ROMAN.fullmatch(word.casefold()) is not None


def _is_written_as_name(word: str) -> bool:
    is_acronym = word.isupper() and len(word) <= SHORT
    return word[:1].isupper() and len(word) > 1 and not is_acronym and word.casefold() not in TITLES


@lru_cache(KEPT)
def _code(word: str) -> int:
    """Of its first two and last two letters without accents; of all letters where it is short or numbered. Never 0."""
    letters = "".join(one for one in unicodedata.normalize("NFKD", word.casefold()) if one.isalnum())
    told = letters if len(letters) <= SHORT or _is_numbered(word) else letters[:2] + letters[-2:]
    return 1 + int.from_bytes(sha256(told.encode()).digest()[:4], "little") % (2**31 - 2)
