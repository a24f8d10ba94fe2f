"""What single memories keep: documents, texts with ids, at every version; and words by their senses."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, WithJsonSchema

from errata.wire.base import Name, Request, Response, Version, check_name
from errata.wire.edits import WriteRequest

# The memory of documents, and the kind of its changes, for edits that extend or correct one
DOCUMENTS, DOCUMENT = "documents/texts", "document"
MAX_DOCUMENT_CHARS = 1_000_000
MediaType = Literal["text/plain", "text/markdown"]
# Media types of files whose text the service reads
FileType = Literal["text/html", "application/xhtml+xml", "application/pdf"]

SLUG = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
SLUG_RULE = "may have 1 to 128 letters, digits and . _ -, and begins with a letter or a digit"
DocumentId = Annotated[
    str, check_name(SLUG, SLUG_RULE), WithJsonSchema({"type": "string", "pattern": f"^{SLUG}$"})
]


class DocumentRequest(WriteRequest):
    """A whole document, which replaces an earlier one with its id."""

    text: Annotated[str, Field(max_length=MAX_DOCUMENT_CHARS)]
    title: Name | None = None
    media_type: MediaType = "text/plain"
    expected_version: Version | None = None


class RemovalOptions(WriteRequest, strict=False):  # values of a query are texts
    """The query of a removal."""

    expected_version: Version | None = None


class TextOptions(RemovalOptions):
    """The query of a document whose body is the text itself."""

    title: Name | None = None


class DocumentHead(Response):
    """A document without its text."""

    id: str
    title: str = ""
    """"" without one."""
    media_type: str = "text/plain"
    characters: int
    digest: str
    edits: list[str] = Field(default_factory=list)
    """Ids of the edits that made the text, in order; the first put it."""


class DocumentState(DocumentHead):
    """A document at `version`."""

    version: Version
    text: str


class DocumentList(Response):
    """Documents by id, and their `total` number at `version`; `after` lists those that follow the last one here."""

    version: Version
    total: int
    documents: list[DocumentHead]


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
