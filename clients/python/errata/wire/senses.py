"""Words by their senses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from errata.wire.base import Request, Response
from errata.wire.texts import Name, Version

Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]  # a space before it counts
SenseNumber = Annotated[int, Field(ge=0, le=10_000)]


class SensesQuery(Request, strict=False):  # in a query all values are texts
    """The query for a word, which is looked up with a space before it where that is known; `exact` takes it as written.

    `sense` selects one sense, and `top_k` limits the words listed of each.
    """

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
    """One sense of a word."""

    number: int
    """Number of the sense, from 0."""
    strength: float
    """Length of its vector with edits."""
    base_strength: float
    """Length of its vector without edits."""
    factor: float
    """Factor of edits on its weight."""
    top: list[ScoredWord]
    """Words that it favours most."""
    bottom: list[ScoredWord]
    """Words that it favours least."""
    edits: list[str]
    """Edits that changed it."""


class WordSenses(Response):
    """The senses of a word, which is given exactly, with the space before it, and by the id of its `token`."""

    model: str
    version: Version
    word: str
    token: int
    senses: list[Sense]
    warnings: list[str] = Field(default_factory=list)
