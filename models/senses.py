"""Inquiries about the senses of words: an optional capability of a system whose words are bundles of senses.

The service looks for it with `isinstance`, as for those of models/system.py.
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


@dataclass(frozen=True)
class BiasInquiry:
    """Between which words a difference is looked for, and where."""

    # Words that are compared as the next word of a prompt. Without any, the system studies its own list.
    pairs: tuple[tuple[str, str], ...] = ()
    # Words whose senses may carry the difference; each takes the place of `{word}` in the prompts
    words: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()  # texts up to the place where a pair is compared
    # Whole texts, on which everything else is measured; none means some of the system's own
    sentences: tuple[str, ...] = ()
    # Factors on the weight of the sense that carries the difference
    multipliers: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25, 0.0)
    sense: int | None = None  # number of the sense; None for the one that carries most


@dataclass(frozen=True)
class SenseShare:
    """The addition of one sense of the words to the log-odds of a pair, averaged over the prompts."""

    sense: int  # its number
    mean: float  # the average
    mean_size: float  # the average of its absolute value


@dataclass(frozen=True)
class BiasPoint:
    """The effect of a multiplier on a sense of the words."""

    multiplier: float
    # Probability of the likelier word of the pair over that of the other one, averaged over the prompts
    ratio: float
    median_ratio: float  # median of these ratios
    perplexity: float  # perplexity of the sentences
    # Probability of all words but the pair that lies elsewhere than without a multiplier, averaged
    shift: float


@dataclass(frozen=True)
class PairBias:
    """The difference between two words."""

    pair: tuple[str, str]  # the words to the letter
    shares: tuple[SenseShare, ...]  # share of each sense, the largest first
    sense: int  # the sense that the multipliers act on
    points: tuple[BiasPoint, ...]  # effect of each multiplier


@dataclass(frozen=True)
class BiasReport:
    """The result of an inquiry."""

    words: tuple[str, ...]  # the words whose senses were multiplied, to the letter
    prompts: tuple[str, ...]  # the prompts, filled in
    n_sentences: int  # number of sentences
    note: str  # subject of the study where the inquiry named nothing; else ""
    pairs: tuple[PairBias, ...]
    warnings: tuple[str, ...]  # warnings for the reader


@runtime_checkable
class HasSenses(Protocol):
    """Shows the senses of words, and which of them carry a difference between two words."""

    def show_senses(self, inquiry: SensesInquiry, views: Views) -> WordSenses:
        """Return the senses of a word. BadInquiry: the word is several pieces, or a sense is unknown."""

    def measure_bias(self, inquiry: BiasInquiry, views: Views) -> BiasReport:
        """Return which sense carries the difference of each pair, and what multipliers on it do.

        BadInquiry: a word is several pieces, a text is empty, a multiplier negative, or no prompt has a word.
        """


def check_senses(numbers: Sequence[int], n_senses: int, field: str) -> None:
    """Check that senses exist. BadInquiry: one does not."""
    if unknown := [number for number in numbers if not 0 <= number < n_senses]:
        raise BadInquiry(f"there is no sense {unknown[0]}: the senses are 0 to {n_senses - 1}", field)
