"""What two questions have to share to the letter, however alike they read: numbers, single letters, names.

To a language model neighbouring numbers mean nearly the same, and so do plan B and plan C; words of scripts that the
encoder was not trained on it hardly tells apart at all. No wording changes these without changing the question, so a
gate stays shut when they differ. Initials and abbreviations (J. K., U.S.) do not count: they are written in many ways.

A name that is longer by a word reads nearly as the shorter one does: who asks about Falcon Lite does not ask about
Falcon. So every name in a question has to stand in the wording that the gate was made of. The other way round it need
not: a question may leave out a part of the name. Words are names where they are written as such, with a capital inside
of a sentence; with a digit; and Roman numerals. In Headlines, without any lower case and in another language capitals
tell nothing.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.scope.language import WORD, is_in_another_language, is_latin

NUMBER = re.compile(r"\d+")
LETTER = re.compile(r"(?<![\w'’.])[^\W\d_](?![\w'’.])")  # by itself: plan B, vitamin C
END = " ?!."
SMALL_WORDS = {"a", "i"}

MAX_WORDS = 32  # words of one question that are compared; a wording with more restricts nothing
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
CACHE_SIZE = 1 << 16  # words


def digest_numbers(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Equal for questions with the same numbers, single letters and foreign words in any order; 0 without any."""
    digests = []
    for question in questions:
        text = unicodedata.normalize("NFKC", question).casefold().rstrip(END)
        letters = [
            letter for letter in LETTER.findall(text) if is_latin(letter) and letter not in SMALL_WORDS
        ]
        foreign = [word for word in WORD.findall(text) if not is_latin(word)]
        literals = " ".join(sorted([*NUMBER.findall(text), *letters, *foreign])).encode()
        digest = int.from_bytes(sha256(literals).digest()[:8], "little", signed=True) if literals else 0
        digests.append(digest)
    return torch.tensor(digests, dtype=torch.int64)


def encode_words(questions: Sequence[str]) -> Int[Tensor, "batch word"]:
    """The words of each question as codes, names with a minus, then zeros.

    A slip in the middle of a long word does not tell.
    """
    rows = torch.zeros(len(questions), MAX_WORDS, dtype=torch.int32)
    for row, question in zip(rows, questions, strict=True):
        codes = list(dict.fromkeys(_codes(unicodedata.normalize("NFKC", question))))[:MAX_WORDS]
        row[: len(codes)] = torch.tensor(codes, dtype=torch.int32)
    return rows


def covers_names(
    gates: Int[Tensor, "pair word"], questions: Int[Tensor, "pair word"]
) -> Bool[Tensor, " pair"]:
    """Whether all names of the question are words of the gate, or that has no words or too many to compare."""
    vocabulary = gates.abs()
    is_there = (questions.abs()[:, :, None] == vocabulary[:, None, :]).any(-1)
    is_free = (vocabulary[:, 0] == 0) | (vocabulary[:, -1] != 0)
    return is_free | (is_there | (questions >= 0)).all(-1)


def _codes(question: str) -> Iterator[int]:
    tokens = TOKEN.findall(question)
    is_sentence = any(token.islower() and LOWER.fullmatch(token) for token in tokens)
    capitals_tell = is_sentence and not is_in_another_language(question)
    before = STOPS[0]
    for token in tokens:
        if token not in STOPS:
            word = POSSESSIVE.sub("", token)
            is_acronym = word.isupper() and len(word) <= SHORT
            is_capital = word[:1].isupper() and len(word) > 1 and word.casefold() not in TITLES
            is_inside = capitals_tell and before not in STOPS
            is_name = _is_numbered(word) or (is_inside and is_capital and not is_acronym)
            yield -_code(word) if is_name else _code(word)
        before = token


def _is_numbered(word: str) -> bool:
    """Arabic numbers by themselves are compared by `digest_numbers`."""
    has_digit = not word.isdigit() and any(letter.isdigit() for letter in word)
    return has_digit or ROMAN.fullmatch(word.casefold()) is not None


@lru_cache(CACHE_SIZE)
def _code(word: str) -> int:
    """Of its first two and last two letters without accents; of all letters where it is short or numbered. Never 0."""
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", word.casefold()) if letter.isalnum())
    text = letters if len(letters) <= SHORT or _is_numbered(word) else letters[:2] + letters[-2:]
    return 1 + int.from_bytes(sha256(text.encode()).digest()[:4], "little") % (2**31 - 2)
