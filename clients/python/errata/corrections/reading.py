"""Reads the corrections of a file and checks each, so that a bad line is known before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from errata.corrections.easyedit import EASYEDIT_LINE, is_easyedit, of_easyedit
from errata.corrections.line import Line
from errata.corrections.records import CSV, CSV_LINE, JSON, JSONL, JSONL_LINE, Record, records
from errata.errors import BadFile, UnreadableFile
from errata.refusals import sentence
from errata.wire import EditItem, Item

ITEM: TypeAdapter[Item] = TypeAdapter(Item)
FACT_FIELDS = {"subject", "relation", "object", "define"}


@dataclass(frozen=True)
class Reader:
    """model: whom a line corrects that does not say so itself. teach: rephrased prompts are given as paraphrases."""

    file: Path
    model: str = "nkb"
    teach: bool = False

    def read(self) -> tuple[list[Line], str]:
        """Its lines, in order, and the digest of its bytes. BadFile, or UnreadableFile."""
        kind = self.file.suffix.lower()
        if kind not in (CSV, *JSONL, JSON):
            raise BadFile(
                f"{self.file}: the name must end in .csv, .jsonl or .json, so that it is clear how to read it"
            )
        content = self._bytes()
        lines = [self._line(one, kind) for one in records(str(self.file), kind, self._text(content))]
        if not lines:
            raise BadFile(f"{self.file} holds no corrections; each is a line {_expected(kind, {})}")
        return lines, sha256(content).hexdigest()

    def _bytes(self) -> bytes:
        try:
            return self.file.read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UnreadableFile(f"{self.file} cannot be read: {why}") from error

    def _text(self, content: bytes) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise BadFile(f"{self.file}:{line}: this is not UTF-8; save the file as UTF-8") from error

    def _line(self, record: Record, kind: str) -> Line:
        line = Line(record.number, record.where)
        expected = f"; expected {_expected(kind, record.fields)}"
        if record.complaint:
            line.refuse("bad_line", record.complaint + ("" if kind == CSV else expected))
            return line
        fields = record.fields
        if is_easyedit(fields):
            fields, line.rephrased, line.unused = of_easyedit(fields, self.teach)
        try:
            line.item = self._item(fields)
        except ValidationError as error:
            line.refuse("bad_line", sentence(error) + expected)
        return line

    def _item(self, fields: dict[str, object]) -> Item:
        if FACT_FIELDS & set(fields):
            return ITEM.validate_python(fields)
        return EditItem.model_validate({"model": self.model, **fields})


def _expected(kind: str, fields: dict[str, object]) -> str:
    if kind == CSV:
        return CSV_LINE
    return EASYEDIT_LINE if is_easyedit(fields) or (kind == JSON and not fields) else JSONL_LINE
