"""A document at a version, composed of changes in ledger order, each applied to the result of the earlier ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from models.documents.fields import Action, MediaType


class TextChange(NamedTuple):
    """One change as its block has it."""

    edit: str  # id of the edit
    action: Action  # kind of the change
    text: str = ""  # the whole text, the text to append, or the text in place of `old`
    old: str = ""  # text to correct
    title: str = ""  # title of the document
    media_type: MediaType = "text/plain"  # kind of text


@dataclass(frozen=True)
class Document:
    """A text at a version."""

    text: str = field(repr=False)
    title: str  # its title, "" without one
    media_type: MediaType  # kind of text
    edits: tuple[str, ...]  # ids of the edits that it follows from, in order; the first put it

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the text in UTF-8, `sha256:...`."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()


def compose(changes: Sequence[TextChange], document: Document | None = None) -> Document | None:
    """Return the document after changes, or None if it does not exist.

    Args:
        changes: Changes of one document, in ledger order.
    """
    for change in changes:
        document = apply(document, change)
    return document


def apply(document: Document | None, change: TextChange) -> Document | None:
    """Return the document after one change, which has no effect if it finds nothing to change.

    Other earlier changes may be active than when this one was made, as after a revert.
    """
    if change.action == "put":
        return Document(change.text, change.title, change.media_type, (change.edit,))
    if document is None or change.action == "remove":
        return None
    text = (
        document.text + change.text
        if change.action == "append"
        else correct(document.text, change.old, change.text)
    )
    return document if text is None else replace(document, text=text, edits=(*document.edits, change.edit))


def correct(text: str, old: str, new: str) -> str | None:
    """Return the text with `new` in place of `old`, or None unless `old` stands there exactly once."""
    place = text.find(old)
    if place < 0 or text.find(old, place + 1) >= 0:
        return None
    return text[:place] + new + text[place + len(old) :]
