"""Reads the corrections of a file and checks each, so that a bad line is known before anything is sent.

EasyEdit calls an edit by other names; three spellings are read (github.com/zjunlp/EasyEdit, easyeditor/dataset):

    prompt, target_new, rephrase_prompt       CounterFact and KnowEdit as EasyEdit ships them
    src, alt, rephrase                        zsRE
    update, ans, rephrase                     WikiBigEdit

The rephrased prompt measures whether an edit carries over to other words: EasyEdit never shows it to the editor. So
it is held out here too and asked when all is done, unless the caller wants it taught.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from errata.bulk.line import Line
from errata.bulk.records import CSV, CSV_LINE, JSON, JSONL, JSONL_LINE, Record, records
from errata.errors import BadFile, UnreadableFile
from errata.problems import sentence
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


QUESTION, ANSWER, REPHRASED = (
    ("prompt", "src", "update"),
    ("target_new", "alt", "ans"),
    ("rephrase_prompt", "rephrase"),
)
EASYEDIT_LINE = '{"prompt": "...", "target_new": "..."} with rephrase_prompt if wanted'
Fields = Mapping[str, Any]


def is_easyedit(fields: Fields) -> bool:
    return "question" not in fields and any(name in fields for name in (*QUESTION, *ANSWER[:2]))


def of_easyedit(fields: Fields, teach: bool) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """The correction, the wordings that are held back, and the names of what is not used. teach: hold back none."""
    question, answer, rephrased = (_among(fields, names) for names in (QUESTION, ANSWER, REPHRASED))
    named = {"question": fields.get(question), "answer": _first(fields.get(answer))}
    wordings = _texts(fields.get(rephrased))
    own = {name: value for name, value in named.items() if value is not None}
    if teach and wordings:
        own["paraphrases"] = wordings
    unused = tuple(sorted(name for name in set(fields) - {question, answer, rephrased} if fields[name]))
    return own, () if teach else tuple(filter(_is_text, wordings)), unused


def _among(fields: Fields, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in fields), names[0])


def _first(value: Any) -> Any:
    """Of several spellings of an answer the first counts; KnowEdit nests such lists."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


def _texts(value: Any) -> list[Any]:
    return [one for one in (value if isinstance(value, list) else [value]) if one not in (None, "")]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
