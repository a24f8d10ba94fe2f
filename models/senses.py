"""Inquiries about the senses of words: an optional capability of a system whose words are bundles of senses.

The service looks for it with `isinstance`, as for those of models/system.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from models.memory import Views


class BadInquiry(ValueError):
    """An inquiry that cannot be answered; the text names one that can.

    Args:
        detail: The text.
        field: Field of the inquiry that is wrong.
    """

    def __init__(self, detail: str, field: str) -> None:
        super().__init__(detail)
        self.field = field


@dataclass(frozen=True)
class SensesInquiry:
    """A request for the senses of a word.

    Attributes:
        word: The word.
        senses: Numbers of senses; none means all.
        top_k: How many words each sense is shown by.
        exact: Whether to take the word as written; otherwise the word behind a space is taken, if that is known.
        first_piece: Whether the first piece of several is shown.
    """

    word: str
    senses: tuple[int, ...] = ()
    top_k: int = 8
    exact: bool = False
    first_piece: bool = False


@dataclass(frozen=True)
class ScoredWord:
    """A word, and what a sense adds to its logit where the sense has a weight of one."""

    word: str
    logit: float


@dataclass(frozen=True)
class Sense:
    """One sense of a word, as a version has it.

    Attributes:
        number: Its number.
        strength: Length of its vector, the factor of edits included.
        base_strength: Length of its vector in the checkpoint.
        factor: Factor that edits put on its weight.
        top: Words that it favours most.
        bottom: Words that it favours least.
        edits: Edits that changed it.
    """

    number: int
    strength: float
    base_strength: float
    factor: float
    top: tuple[ScoredWord, ...]
    bottom: tuple[ScoredWord, ...]
    edits: tuple[str, ...]


@dataclass(frozen=True)
class WordSenses:
    """The senses of one word.

    Attributes:
        word: The word to the letter, with the space before it, if there is one.
        token: Its id.
        senses: Its senses.
        warnings: What a reader should know of the word.
    """

    word: str
    token: int
    senses: tuple[Sense, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class BiasInquiry:
    """Between which words a difference is looked for, and where.

    Attributes:
        pairs: Words that are compared as the next word of a prompt. Without any, the system studies its own list.
        words: Words whose senses may carry the difference; each takes the place of `{word}` in the prompts.
        prompts: Texts up to the place where a pair is compared.
        sentences: Whole texts, on which everything else is measured; none means some of the system's own.
        multipliers: Factors on the weight of the sense that carries the difference.
        sense: Number of the sense; None for the one that carries most.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    multipliers: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25, 0.0)
    sense: int | None = None


@dataclass(frozen=True)
class SenseShare:
    """The addition of one sense of the words to the log-odds of a pair, averaged over the prompts.

    Attributes:
        sense: Its number.
        mean: The average.
        mean_size: The average of its absolute value.
    """

    sense: int
    mean: float
    mean_size: float


@dataclass(frozen=True)
class BiasPoint:
    """The effect of a multiplier on a sense of the words.

    Attributes:
        multiplier: The multiplier.
        ratio: Probability of the likelier word of the pair over that of the other one, averaged over the prompts.
        median_ratio: Median of these ratios.
        perplexity: Perplexity of the sentences.
        shift: Probability of all words but the pair that lies elsewhere than without a multiplier, averaged.
    """

    multiplier: float
    ratio: float
    median_ratio: float
    perplexity: float
    shift: float


@dataclass(frozen=True)
class PairBias:
    """The difference between two words.

    Attributes:
        pair: The words to the letter.
        shares: Share of each sense, the largest first.
        sense: The sense that the multipliers act on.
        points: Effect of each multiplier.
    """

    pair: tuple[str, str]
    shares: tuple[SenseShare, ...]
    sense: int
    points: tuple[BiasPoint, ...]


@dataclass(frozen=True)
class BiasReport:
    """The result of an inquiry.

    Attributes:
        words: The words whose senses were multiplied, to the letter.
        prompts: The prompts, filled in.
        n_sentences: Number of sentences.
        note: Subject of the study where the inquiry named nothing; else "".
        pairs: The pairs.
        warnings: Warnings for the reader.
    """

    words: tuple[str, ...]
    prompts: tuple[str, ...]
    n_sentences: int
    note: str
    pairs: tuple[PairBias, ...]
    warnings: tuple[str, ...]


@runtime_checkable
class HasSenses(Protocol):
    """Shows the senses of words, and which of them carry a difference between two words."""

    def show_senses(self, inquiry: SensesInquiry, views: Views) -> WordSenses:
        """Return the senses of a word.

        Raises:
            BadInquiry: The word is several pieces, or a sense is unknown.
        """

    def measure_bias(self, inquiry: BiasInquiry, views: Views) -> BiasReport:
        """Return which sense carries the difference of each pair, and what multipliers on it do.

        Raises:
            BadInquiry: A word is several pieces, a text is empty, a multiplier negative, or no prompt has a word.
        """


def check_senses(numbers: Sequence[int], n_senses: int, field: str) -> None:
    """Check that senses exist.

    Raises:
        BadInquiry: One does not.
    """
    if unknown := [number for number in numbers if not 0 <= number < n_senses]:
        raise BadInquiry(f"there is no sense {unknown[0]}: the senses are 0 to {n_senses - 1}", field)
