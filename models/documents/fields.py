"""The fields of a change of a document: put it, append to it, correct a sentence of it, remove it."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from models.memory import EditRefused, Fields

MAX_CHARS = 1_000_000  # characters of a document, and of each text of a change
MAX_TITLE_CHARS = 200
SLUG = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
"""Pattern of an id: it stands in addresses and file names as it is."""

Action = Literal["put", "append", "replace", "remove"]
MediaType = Literal["text/plain", "text/markdown"]
SHOWN_CHARS = 80  # characters of a text in a summary
BINARY = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
"""Characters that no text has: control characters but tab, line ends and form feed; halves of surrogate pairs."""
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
N_LOST = "{} could not be read, and {} stands for each: the file's encoding or its font does not have them."
NOT_READ = {
    "PDF": re.compile(r"\s*%PDF-"),
    "HTML": re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE),
}
"""Formats that begin so, and that are no text."""


FIELD_NAMES: dict[
    Action, tuple[Set[str], Set[str]]
] = {  # fields that an action needs, and those that it may have
    "put": ({"text"}, {"title", "media_type"}),
    "append": ({"text"}, set()),
    "replace": ({"old", "new"}, set()),
    "remove": (set(), set()),
}


class DocumentFields(Fields):
    """A change of one document."""

    id: str = Field(pattern=f"^{SLUG}$")  # name of the document
    # `put` writes the whole text, `append` adds to its end, `replace` corrects a part, `remove` ends it
    action: Action = "put"
    text: str | None = Field(None, max_length=MAX_CHARS)  # the whole text, or the text to append
    title: str | None = Field(None, max_length=MAX_TITLE_CHARS)  # title, which a `put` sets
    media_type: MediaType | None = None  # kind of text, which a `put` sets
    # Text to correct; it has to stand in the document once
    old: str | None = Field(None, max_length=MAX_CHARS)
    new: str | None = Field(None, max_length=MAX_CHARS)  # text in its place; it may be empty

    @model_validator(mode="after")
    def _check_fields(self) -> DocumentFields:
        required, optional = FIELD_NAMES[self.action]
        present = set(self.model_dump(exclude_none=True)) - {"id", "action"}
        for name in sorted(required - present):
            raise PydanticCustomError(
                "missing_field", "{action} needs `{name}`", {"action": self.action, "name": name}
            )
        for name in sorted(present - required - optional):
            raise PydanticCustomError(
                "unused_field", "{action} takes no `{name}`", {"action": self.action, "name": name}
            )
        return self

    def subject(self) -> str:
        return self.id

    def summarize(self) -> str:
        """Return the change in one line of words."""
        if self.action == "replace":
            return f"correct document {self.id!r}: {shorten(self.old)!r} -> {shorten(self.new)!r}"
        if self.action == "remove":
            return f"remove document {self.id!r}"
        verb = "put document" if self.action == "put" else "append to document"
        return f"{verb} {self.id!r}: {count(len(self.text or ''), 'character')}, {shorten(self.text)!r}"

    def warnings(self) -> list[str]:
        """Return how many characters were not known when the text was read from a file."""
        n_unknown = (self.text or "").count(UNKNOWN)
        return [N_LOST.format(count(n_unknown, "character"), UNKNOWN)] if n_unknown else []

    def outline(self) -> dict[str, Any]:
        """Return the fields with each text cut to its beginning; the block has the whole text."""
        fields = super().outline()
        return {
            name: shorten(value) if name in ("text", "old", "new") else value
            for name, value in fields.items()
        }


def shorten(text: str | None) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join((text or "")[: 2 * SHOWN_CHARS].split())
    return (
        line if len(line) <= SHOWN_CHARS and len(text or "") <= 2 * SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"
    )


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def refuse_text(fields: DocumentFields) -> EditRefused | None:
    """Return why the fields hold no text to read, or None. It depends on nothing but the fields."""
    text = fields.new if fields.action == "replace" else fields.text
    if fields.action in ("put", "append") and not (text or "").strip():
        return EditRefused("empty", f"the text of {fields.id!r} is empty: write one, or remove the document")
    if fields.action == "replace" and not (fields.old or "").strip():
        return EditRefused("empty", "the text to correct is empty: say what stands in the document now")
    if text and (character := BINARY.search(text)):
        where = f"U+{ord(character[0]):04X} as character {character.start() + 1:,}"
        return EditRefused("binary", f"this is no text: it has {where}; send plain text or Markdown in UTF-8")
    for name, pattern in NOT_READ.items():
        if fields.action == "put" and text and pattern.match(text):
            return EditRefused(
                "not_read", f"this is {name} and no text: send it as a file (`errata doc put ID FILE`)"
            )
    return None
