"""Documents as they are put and read: texts with ids, which models answer from, at every version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from errata.wire.base import Message, Name, Request, Response, Version, check_name
from errata.wire.edits import Wait

DOCUMENTS, DOCUMENT = "documents/texts", "document"
"""The memory of documents, and the kind of its changes, for edits that extend or correct one."""
MAX_DOCUMENT_CHARS = 1_000_000
MediaType = Literal["text/plain", "text/markdown"]
FileType = Literal["text/html", "application/xhtml+xml", "application/pdf"]
"""Media types of files whose text the service reads."""

SLUG = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
SLUG_RULE = "may have 1 to 128 letters, digits and . _ -, and begins with a letter or a digit"
DocumentId = Annotated[
    str, check_name(SLUG, SLUG_RULE), WithJsonSchema({"type": "string", "pattern": f"^{SLUG}$"})
]


class DocumentRequest(Request):
    """The whole of a document: what stood under its id before is replaced."""

    text: Annotated[str, Field(max_length=MAX_DOCUMENT_CHARS)]
    title: Name | None = None
    media_type: MediaType = "text/plain"
    message: Message = ""
    expected_version: Version | None = None
    wait: Wait = "all"
    dry_run: bool = False


class RemovalOptions(Request):
    """The query of a removal."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)  # a query is all text

    message: Message = ""
    expected_version: Version | None = None
    wait: Wait = "all"
    dry_run: bool = False


class TextOptions(RemovalOptions):
    """The query of a document whose body is the text itself."""

    title: Name | None = None


class DocumentHead(Response):
    """A document without its text. digest: of the text. edits: those that it follows from, the first put it."""

    id: str
    title: str = ""
    media_type: str = "text/plain"
    characters: int
    digest: str
    edits: list[str] = Field(default_factory=list)


class DocumentState(DocumentHead):
    """A document at `version`."""

    version: Version
    text: str


class DocumentList(Response):
    """By id. total: how many there are at `version`; those behind the last one are listed with `after`."""

    version: Version
    total: int
    documents: list[DocumentHead]
