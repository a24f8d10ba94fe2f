"""Senses of words: GET /v1/senses and POST /admin/bias."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from errata.wire.base import MAX_TEXT_CHARS, Name, Request, Response, Version

MAX_WORDS, MAX_PROMPTS, MAX_SENTENCES, MAX_PAIRS, MAX_MULTIPLIERS = 64, 64, 256, 8, 32

Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]  # a space before it counts
SenseNumber = Annotated[int, Field(ge=0, le=10_000)]
# A passage may have line breaks, as the texts that train a language model
Passage = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]


class SensesQuery(Request):
    """The query for a word, which is looked up with a space before it where that is known; `exact` takes it as written.

    `sense` selects one sense, and `top_k` limits the words listed of each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)  # in a query all values are texts

    word: Word
    sense: SenseNumber | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] = 8
    exact: bool = False
    first_piece: bool = False
    model: Name | None = None
    version: Version | None = None


class ScoredWord(Response):
    """A word, and the logit that a sense of weight one adds to it."""

    word: str
    logit: float


class Sense(Response):
    """One sense of a word.

    Attributes:
        number: Number of the sense, from 0.
        strength: Length of its vector with edits.
        base_strength: Length of its vector without edits.
        factor: Factor of edits on its weight.
        top: Words that it favours most.
        bottom: Words that it favours least.
        edits: Edits that changed it.
    """

    number: int
    strength: float
    base_strength: float
    factor: float
    top: list[ScoredWord]
    bottom: list[ScoredWord]
    edits: list[str]


class WordSenses(Response):
    """The senses of a word, which is given exactly, with the space before it, and by the id of its `token`."""

    model: str
    version: Version
    word: str
    token: int
    senses: list[Sense]
    warnings: list[str] = Field(default_factory=list)


class BiasRequest(Request):
    """Asks for the difference between the words of pairs; without pairs the model uses its own list.

    Attributes:
        pairs: Words compared as the next word of a prompt. Without any, the model studies its own.
        words: Words whose senses may carry the difference; each replaces `{word}` in the prompts.
        prompts: Texts up to the place where a pair is compared.
        sentences: Texts on which side effects are measured.
        multipliers: Factors on the weight of the sense: 0 silences it, 1 changes nothing.
        sense: The sense to change; None for the one that carries most.
    """

    pairs: Annotated[
        list[Annotated[list[Word], Field(min_length=2, max_length=2)]], Field(max_length=MAX_PAIRS)
    ] = Field(default_factory=list)
    words: Annotated[list[Word], Field(max_length=MAX_WORDS)] = Field(default_factory=list)
    prompts: Annotated[list[Passage], Field(max_length=MAX_PROMPTS)] = Field(default_factory=list)
    sentences: Annotated[list[Passage], Field(max_length=MAX_SENTENCES)] = Field(default_factory=list)
    multipliers: Annotated[list[float], Field(min_length=1, max_length=MAX_MULTIPLIERS)] = Field(
        default_factory=lambda: [1.0, 0.75, 0.5, 0.25, 0.0]
    )
    sense: SenseNumber | None = None
    model: Name | None = None
    version: Version | None = None


class SenseShare(Response):
    """The average that a sense of the words adds to the log-odds of a pair; `mean_size` averages without signs."""

    sense: int
    mean: float
    mean_size: float


class BiasPoint(Response):
    """The effect of a multiplier.

    Attributes:
        multiplier: A factor on the weight of the sense.
        ratio: The pair's larger probability over the smaller, averaged over the prompts.
        median_ratio: Median of the same.
        perplexity: Perplexity of the sentences.
        shift: Probability that moved between other words, averaged.
    """

    multiplier: float
    ratio: float
    median_ratio: float
    perplexity: float
    shift: float


class PairBias(Response):
    """One pair: the share of each sense, the largest first, and the effect of multipliers on one `sense`."""

    pair: list[str]
    shares: list[SenseShare]
    sense: int
    points: list[BiasPoint]


class BiasReport(Response):
    """The report, with the words and prompts as they were read.

    Attributes:
        words: Words whose senses may carry the difference; each takes the place of `{word}` in the prompts.
        prompts: Texts up to the place where a pair is compared.
        n_sentences: Number of sentences on which everything else was measured.
        note: The list of pairs that the model studied, where the request named none.
        pairs: The pairs, in their order.
    """

    model: str
    version: Version
    words: list[str]
    prompts: list[str]
    n_sentences: int
    note: str = ""
    pairs: list[PairBias]
    warnings: list[str] = Field(default_factory=list)
