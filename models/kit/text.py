"""Words and tokens of a question, a candidate or a context, each with its place in the text it came from.

Liu et al., K-BERT (arXiv:1909.07606), section "Notation": a sentence is a list of tokens. A span of tokens is cut
from the text itself, so whitespace and lower-casing change no answer. The longest of names that overlap counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

from tokenizers import Tokenizer

from models.kit.checkpoint import CheckpointError

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
CACHED_TEXTS = 1 << 15  # texts in the cache: questions and facts recur


@dataclass(frozen=True, slots=True)
class Word:
    """A stretch of text that facts can hang from: one node of the sentence tree."""

    text: str  # its characters
    start: int = 0  # where it begins in its text
    part: int = 0  # 0, or 1 for the second text of a pair
    is_tag: bool = False  # whether it is a special token, which is never split and which no text contains


@dataclass(frozen=True, slots=True)
class Piece:
    """One token; it stands for text[start:end] of the text that was split."""

    text: str
    id: int
    start: int
    end: int


@runtime_checkable
class Tokens(Protocol):
    """Splits words and facts into tokens."""

    padding: int
    """The id of [PAD]."""

    def split(self, text: str) -> Sequence[Piece]:
        """Split a word or a fact. A special token spelt in it is characters like any other."""

    def tag(self, name: str) -> Piece:
        """Return the piece of a special token."""


class WordPieces:
    """The word pieces of a Hugging Face tokenizer, with a cache of texts already split. Threads may share it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Copy the tokenizer and check it. CheckpointError: the vocabulary lacks a special token of BERT."""
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())  # a copy, whose switches are set below
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        self._ids = self._tokenizer.get_vocab(with_added_tokens=True)
        missing = [name for name in SPECIAL_TOKENS if name not in self._ids]
        if missing:
            raise CheckpointError(f"the vocabulary lacks {', '.join(missing)}: not a BERT's")
        self.padding = self._ids[PAD]
        self._cache = lru_cache(CACHED_TEXTS)(self._encode)

    def split(self, text: str) -> Sequence[Piece]:
        return self._cache(text)

    def tag(self, name: str) -> Piece:
        return Piece(name, self._ids[name], 0, len(name))

    def _encode(self, text: str) -> tuple[Piece, ...]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(encoding.tokens, encoding.ids, encoding.offsets, strict=True)
        return tuple(Piece(token, id, start, end) for token, id, (start, end) in spans)
