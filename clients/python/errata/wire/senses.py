"""Senses of words as they travel: GET /v1/senses and POST /admin/bias."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from errata.wire.base import MAX_TEXT_CHARS, Name, Request, Response, Version

MAX_WORDS, MAX_PROMPTS, MAX_SENTENCES, MAX_PAIRS, MAX_MULTIPLIERS = 64, 64, 256, 8, 32

Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]
"""A space before it counts."""
SenseNumber = Annotated[int, Field(ge=0, le=10_000)]
Passage = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]
"""May have line breaks, as the texts do that a language model was trained on."""


class SensesQuery(Request):
    """The word as it stands behind a space where such a word is known; `exact` takes it as it is written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)  # in a query all values are texts

    word: Word
    sense: SenseNumber | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] = 8
    exact: bool = False
    first_piece: bool = False
    model: Name | None = None
    version: Version | None = None


class ScoredWord(Response):
    """A word, and what a sense adds to its logit where the sense has a weight of one."""

    word: str
    logit: float


class Sense(Response):
    """One sense of a word.

    strength, base_strength: length of its vector, with edits and without. factor: of edits, on its weight.
    top, bottom: words that it favours most and least. edits: those that changed it.
    """

    number: int
    strength: float
    base_strength: float
    factor: float
    top: list[ScoredWord]
    bottom: list[ScoredWord]
    edits: list[str]


class WordSenses(Response):
    """word: to the letter, with the space before it where it has one. token: its id."""

    model: str
    version: Version
    word: str
    token: int
    senses: list[Sense]
    warnings: list[str] = Field(default_factory=list)


class BiasRequest(Request):
    """Without pairs the model studies a list of its own.

    words: those whose senses may carry the difference; each takes the place of `{word}` in the prompts.
    prompts: texts up to the place where a pair is compared. sentences: on which everything else is measured.
    sense: None for the one that carries most.
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
    """What a sense of the words adds to the log-odds of a pair, averaged; mean_size: the average without signs."""

    sense: int
    mean: float
    mean_size: float


class BiasPoint(Response):
    """What a multiplier does.

    ratio: of the pair's probabilities, the larger over the smaller, averaged over the prompts. median_ratio: their
    median. perplexity: of the sentences. shift: probability of other words that lies elsewhere, averaged.
    """

    multiplier: float
    ratio: float
    median_ratio: float
    perplexity: float
    shift: float


class PairBias(Response):
    """shares: what each sense carries, the largest first. sense: the one that the multipliers act on."""

    pair: list[str]
    shares: list[SenseShare]
    sense: int
    points: list[BiasPoint]


class BiasReport(Response):
    """note: what was studied where the request named no pairs. words, prompts: as they were read."""

    model: str
    version: Version
    words: list[str]
    prompts: list[str]
    n_sentences: int
    note: str = ""
    pairs: list[PairBias]
    warnings: list[str] = Field(default_factory=list)
