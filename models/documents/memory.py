"""The memory `documents/texts`: each edit is a block that holds its text as bytes, a view maps ids to documents.

The fold is the union of the blocks. The text of a document follows from its changes in ledger order, so a
revert of an edit gives exactly the text without it.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from models.documents.document import Document, TextChange, compose, correct
from models.documents.fields import MAX_CHARS, DocumentFields, count, refuse_text
from models.memory import (
    Block,
    ChangeKind,
    EditRefused,
    Fields,
    FieldsChange,
    Image,
    Material,
    Options,
    Usage,
    block_key,
)

DOCUMENTS = "documents/texts"
KIND: ChangeKind = "document"
HEAD, TEXT, OLD = "head", "text", "old"  # tensors of a block
DocumentsView: TypeAlias = Mapping[str, Document]


class Texts:
    """Documents by their ids. There is none in the base."""

    name = DOCUMENTS
    accepts: frozenset[ChangeKind] = frozenset({KIND})
    fields: Mapping[ChangeKind, type[Fields]] = MappingProxyType({KIND: DocumentFields})
    options = Options
    base = Image("sha256:" + hashlib.sha256(DOCUMENTS.encode()).hexdigest())

    def __init__(self) -> None:
        self._documents: WeakValueDictionary[tuple[Block, ...], Document] = WeakValueDictionary()

    def build(self, changes: Sequence[FieldsChange], options: Options) -> list[Material | EditRefused]:
        """Turn changes into blocks; refuse changes without text."""
        return [self._build(change) for change in changes]

    def _build(self, change: FieldsChange) -> Material | EditRefused:
        fields = change.fields
        assert isinstance(fields, DocumentFields)
        return refuse_text(fields) or Material(change.id, KIND, write_block(change.id, fields))

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

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return the union of the blocks."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> DocumentsView:
        """Return the documents of a version by their ids; an earlier view shares those that it has."""
        blocks: dict[str, list[Block]] = defaultdict(list)
        for block in image.ordered_blocks:
            blocks[read_head(block)["id"]].append(block)
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


def write_block(edit: str, fields: DocumentFields) -> Block:
    """Return the block of a change."""
    head = {
        "id": fields.id,
        "action": fields.action,
        "title": fields.title or "",
        "media_type": fields.media_type or "text/plain",
    }
    text = fields.new if fields.action == "replace" else fields.text
    texts = {HEAD: json.dumps(head, sort_keys=True), TEXT: text or "", OLD: fields.old or ""}
    return Block.of(block_key(edit), 0, KIND, {name: _to_bytes(value) for name, value in texts.items()})


def read_head(block: Block) -> Mapping[str, str]:
    """Return which document a block changes and how, without its texts."""
    head: dict[str, str] = json.loads(_to_text(block.tensors[HEAD]))
    return head


def read_block(block: Block) -> TextChange:
    """Return the change that `write_block` wrote."""
    head = read_head(block)
    return TextChange(
        block.edit,
        head["action"],  # type: ignore[arg-type]
        _to_text(block.tensors[TEXT]),
        _to_text(block.tensors[OLD]),
        head["title"],
        head["media_type"],  # type: ignore[arg-type]
    )


def _to_bytes(text: str) -> Tensor:
    data = bytearray(text.encode())
    return torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _to_text(data: Tensor) -> str:
    return data.numpy().tobytes().decode()
