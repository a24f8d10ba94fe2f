"""Documents: texts with ids, at every version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from errata.wire.base import Response, Snapshot
from errata.wire.edits import WriteRequest
from errata.wire.texts import Name, Version, check_name

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


class DocumentList(Snapshot):
    """Documents by id, and their `total` number at `version`; `after` lists those that follow the last one here."""

    total: int
    documents: list[DocumentHead]
