"""Documents at a version: a list by id, and one document with its text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from errata.wire import DocumentHead, DocumentList, DocumentState

from models.documents.document import Document
from models.documents.memory import DocumentsView
from service.errors import NotFound

NO_READER = "no system that is served here reads documents: serve one that does, such as ernie-doc"


@dataclass(frozen=True)
class Documents:
    """The documents of one version."""

    view: DocumentsView  # documents by id
    version: int

    def list_heads(self, limit: int, after: str | None) -> DocumentList:
        """List documents by id.

        Args:
            limit: Most documents of a page.
            after: Id behind which the page begins; None begins with the first.
        """
        ids = list(self.view)  # in order of their ids
        start = 0 if after is None else bisect_right(ids, after)
        heads = [DocumentHead(**_describe(id, self.view[id])) for id in ids[start : start + limit]]
        return DocumentList(version=self.version, total=len(ids), documents=heads)

    def state(self, id: str) -> DocumentState:
        """Return a document with its text.

        Raises:
            NotFound: There is no such document at this version.
        """
        document = self.view.get(id)
        if document is None:
            detail = f"there is no document {id!r} at version {self.version}: /v1/documents lists those that there are"
            raise NotFound(detail, version=self.version)
        return DocumentState(**_describe(id, document), version=self.version, text=document.text)


def _describe(id: str, document: Document) -> dict[str, Any]:
    return {
        "id": id,
        "title": document.title,
        "media_type": document.media_type,
        "characters": len(document.text),
        "digest": document.digest,
        "edits": list(document.edits),
    }
