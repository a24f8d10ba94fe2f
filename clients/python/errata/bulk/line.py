"""One correction of a file: its place, its content, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from errata.wire import EditItem, EditTest, FactItem, Item, RelationItem

Status = Literal["done", "no-op", "duplicate", "replaced", "refused", "taken back", "not sent"]

# Fields of a line in a report
OUTCOME = (
    "status",
    "code",
    "detail",
    "version",
    "before",
    "holds",
    "wordings",
    "follow",
    "warnings",
)


@dataclass(frozen=True)
class Origin:
    """The edit from which an export made a line."""

    version: str = ""  # the version that made the edit; "" for a line that no export made
    id: str = ""  # the id of the edit, by which later lines replace it
    method: str = ""  # how its rows are computed, where that is not the usual way


@dataclass
class Line:
    """One correction of a file."""

    number: int  # number of the line on which it ends; in a list of JSON, of the record
    where: str  # name of the file, and the place in it
    item: Item | None = None  # the correction; None if it cannot be used, and `detail` then has the reason
    origin: Origin = Origin()  # the edit from which an export made it
    unused_fields: tuple[str, ...] = ()  # names of fields that are not read
    # `no-op` for an answer that is right already, `replaced` if a later line gives another answer,
    # `duplicate` if an earlier line is equal, `taken back` if it was made before and reverted since
    status: Status = "not sent"
    code: str = ""  # code of the reason for a status after `no-op`; `detail` has it in words
    detail: str = ""
    version: int | None = None  # version of the commit that made it
    before: str | None = None
    holds: bool | None = None
    wordings: int = 0  # number of its paraphrases; `follow` of them get the answer
    follow: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def question(self) -> str:
        """Return the question, or the subject of a fact, in one line."""
        if isinstance(self.item, EditItem):
            return self.item.question
        if isinstance(self.item, FactItem):
            return f"{self.item.subject} · {self.item.relation}"
        return self.item.define if isinstance(self.item, RelationItem) else ""

    @property
    def answer(self) -> str:
        if isinstance(self.item, EditItem):
            return self.item.answer
        return self.item.object if isinstance(self.item, FactItem) else ""

    @property
    def tests(self) -> Sequence[EditTest]:
        return self.item.tests if isinstance(self.item, EditItem) else ()

    @property
    def is_pending(self) -> bool:
        """Return whether it waits to be sent."""
        return self.item is not None and self.status == "not sent"

    def rename(self, ids: Mapping[str, str]) -> Item:
        """Return the item; edits of an export that it replaces get their `ids` of this service."""
        assert self.item is not None
        if self.origin.version and isinstance(self.item, EditItem) and self.item.replaces:
            names = [ids[str(name)] for name in self.item.replaces if str(name) in ids]
            return self.item.model_copy(update={"replaces": names})
        return self.item

    def refuse(self, code: str, detail: str) -> None:
        self.status = "replaced" if code == "superseded" else "refused"
        self.code, self.detail = code, detail

    def to_row(self) -> dict[str, object]:
        """Return the fields of the line in a report."""
        row = {"line": self.number, "question": self.question, "answer": self.answer}
        return row | {name: getattr(self, name) for name in OUTCOME}
