"""The memory `documents/texts`: each edit is a block that holds its text as bytes, a view maps ids to documents.

The fold is the union of the blocks. The text of a document follows from its changes in ledger order, so a
revert of an edit gives exactly the text without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias
from weakref import WeakValueDictionary

from more_itertools import map_reduce

from models.blocks import Block, Image
from models.documents.document import Document, TextChange, compose, correct
from models.documents.fields import MAX_CHARS, DocumentFields, count, refuse_text
from models.kit.material import UnionMemory, read_text, write_texts
from models.memory import ChangeKind, EditRefused, Fields, FieldsChange, Material, Usage

DOCUMENTS = "documents/texts"
KIND: ChangeKind = "document"
HEAD, TEXT, OLD = "head", "text", "old"  # tensors of a block
DocumentsView: TypeAlias = Mapping[str, Document]


class Texts(UnionMemory):
    """Documents by their ids. There is none in the base."""

    name = DOCUMENTS
    accepts: frozenset[ChangeKind] = frozenset({KIND})
    fields: Mapping[ChangeKind, type[Fields]] = MappingProxyType({KIND: DocumentFields})

    def __init__(self) -> None:
        self._documents: WeakValueDictionary[tuple[Block, ...], Document] = WeakValueDictionary()

    def make(self, change: FieldsChange) -> Material:
        """Write a change with its texts; refuse one that has no text to read."""
        fields = change.fields
        assert isinstance(fields, DocumentFields)
        if refusal := refuse_text(fields):
            raise refusal
        head = {
            "id": fields.id,
            "action": fields.action,
            "title": fields.title or "",
            "media_type": fields.media_type or "text/plain",
        }
        text = fields.new if fields.action == "replace" else fields.text
        texts = {HEAD: json.dumps(head, sort_keys=True), TEXT: text or "", OLD: fields.old or ""}
        return write_texts(change.id, KIND, texts)

    def check(self, fields: DocumentFields, view: DocumentsView) -> EditRefused | None:
        """Return why a change cannot be made to the documents of a version, or None."""
        if fields.action == "put":
            return None
        document = view.get(fields.id)
        if document is None:
            return EditRefused("not_found", f"there is no document {fields.id!r}: put it first")
        if fields.action == "remove":
            return None
        if fields.action == "append":
            length = len(document.text) + len(fields.text or "")
        else:
            text = correct(document.text, fields.old or "", fields.new or "")
            if text is None:
                return self._refuse_correction(fields, document)
            if not text.strip():
                return EditRefused("empty", f"nothing would be left of {fields.id!r}: remove it instead")
            length = len(text)
        if length > MAX_CHARS:
            return EditRefused(
                "too_long",
                f"{fields.id!r} would have {length:,} characters; {MAX_CHARS:,} is the most: split it",
            )
        return None

    def _refuse_correction(self, fields: DocumentFields, document: Document) -> EditRefused:
        old = fields.old or ""
        if old in document.text:
            detail = f"the text to correct stands in {fields.id!r} {document.text.count(old):,} times or more"
            return EditRefused("several", f"{detail}: give more of what stands around it")
        return EditRefused(
            "absent",
            f"the text to correct does not stand in {fields.id!r}: copy it from the document as it is now",
        )

    def view(self, image: Image) -> DocumentsView:
        """Return the documents of a version by their ids; an earlier view shares those that it has."""
        blocks = map_reduce(image.ordered_blocks, lambda block: read_head(block)["id"])
        documents = {id: self._compose(tuple(blocks[id])) for id in sorted(blocks)}
        return MappingProxyType({id: document for id, document in documents.items() if document is not None})

    def _compose(self, blocks: tuple[Block, ...]) -> Document | None:
        """Return the document that the blocks make; only the last block is read if a view has the earlier ones."""
        document = self._documents.get(blocks)
        if document is not None:
            return document
        start = self._documents.get(blocks[:-1])
        fresh = blocks if start is None else blocks[-1:]
        document = compose([read_block(block) for block in fresh], start)
        if document is not None:
            self._documents[blocks] = document
        return document

    def usage(self, image: Image) -> Usage:
        """Tell how many documents there are, and how long they are."""
        documents = self.view(image)
        n_chars = sum(len(document.text) for document in documents.values())
        sentence = f"{DOCUMENTS} holds {count(len(documents), 'document')} with {count(n_chars, 'character')}"
        n_edits = len(image.blocks)
        return Usage(
            n_edits, n_edits, warnings=(sentence,) if documents else ()
        )  # like the graph it has no slots to run out of


def read_head(block: Block) -> Mapping[str, str]:
    """Return which document a block changes and how, without its texts."""
    head: dict[str, str] = json.loads(read_text(block, HEAD))
    return head


def read_block(block: Block) -> TextChange:
    """Return the change that a block holds."""
    head = read_head(block)
    return TextChange(
        block.edit,
        head["action"],  # type: ignore[arg-type]
        read_text(block, TEXT),
        read_text(block, OLD),
        head["title"],
        head["media_type"],  # type: ignore[arg-type]
    )
