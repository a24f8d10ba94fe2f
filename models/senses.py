"""Inquiries about the senses of words: an optional capability of a system whose words are bundles of senses.

The service looks for it with `isinstance`, as for those of models/capabilities.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from models.memory import Views


class BadInquiry(ValueError):
    """An inquiry that cannot be answered; the text names one that can."""

    def __init__(self, detail: str, field: str) -> None:
        super().__init__(detail)
        self.field = field


@dataclass(frozen=True)
class SensesInquiry:
    """A request for the senses of a word."""

    word: str
    senses: tuple[int, ...] = ()  # numbers of senses; none means all
    top_k: int = 8  # how many words each sense is shown by
    # Whether to take the word as written; otherwise the word behind a space is taken, if that is known
    exact: bool = False
    first_piece: bool = False  # whether the first piece of several is shown


@dataclass(frozen=True)
class ScoredWord:
    """A word, and what a sense adds to its logit where the sense has a weight of one."""

    word: str
    logit: float


@dataclass(frozen=True)
class Sense:
    """One sense of a word, as a version has it."""

    number: int
    strength: float  # length of its vector, the factor of edits included
    base_strength: float  # length of its vector in the checkpoint
    factor: float  # factor that edits put on its weight
    top: tuple[ScoredWord, ...]  # words that it favours most
    bottom: tuple[ScoredWord, ...]  # words that it favours least
    edits: tuple[str, ...]  # edits that changed it


@dataclass(frozen=True)
class WordSenses:
    """The senses of one word."""

    word: str  # the word to the letter, with the space before it, if there is one
    token: int  # its id
    senses: tuple[Sense, ...]
    warnings: tuple[str, ...]  # what a reader should know of the word


@runtime_checkable
class HasSenses(Protocol):
    """Shows the senses of words."""

    def show_senses(self, inquiry: SensesInquiry, views: Views) -> WordSenses:
        """Return the senses of a word. BadInquiry: the word is several pieces, or a sense is unknown."""


def check_senses(numbers: Sequence[int], n_senses: int, field: str) -> None:
    """Check that senses exist. BadInquiry: one does not."""
    if unknown := [number for number in numbers if not 0 <= number < n_senses]:
        raise BadInquiry(f"there is no sense {unknown[0]}: the senses are 0 to {n_senses - 1}", field)
