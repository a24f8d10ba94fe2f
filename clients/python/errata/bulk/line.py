"""One correction of a file: where it stands, what it asks for, and what became of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

from errata.wire import EditItem, FactItem, Item, RelationItem

Status = Literal["done", "no-op", "duplicate", "replaced", "refused", "taken back", "not sent"]


@dataclass
class Line:
    """number: of the line it ends on; of a JSON file, it begins on. where: the file's name and the place in it.

    item: None where it cannot be used; `detail` then says why. held_out: wordings to ask but not to teach.
    unused_fields: names of those that nobody uses.

    status: `no-op` where the answer is right already, `superseded` where a later line answers anew, `duplicate` where
    an earlier one says the same, `taken back` where it was made before and is not in force. detail, code: why it is
    none of the first two. version: whose commit made it.
    wordings, follow: how many paraphrases were given, and get the answer too. rephrased_asked, rephrased_follow: the
    same of `held_out`.
    """

    number: int
    where: str
    item: Item | None = None
    held_out: tuple[str, ...] = ()
    unused_fields: tuple[str, ...] = ()
    status: Status = "not sent"
    code: str = ""
    detail: str = ""
    version: int | None = None
    before: str | None = None
    holds: bool | None = None
    wordings: int = 0
    follow: int = 0
    rephrased_asked: int = 0
    rephrased_follow: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def question(self) -> str:
        """What it is about, in one line."""
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
    def is_pending(self) -> bool:
        """Whether it is to be sent."""
        return self.item is not None and self.status == "not sent"

    def refuse(self, code: str, detail: str) -> None:
        self.status = "replaced" if code == "superseded" else "refused"
        self.code, self.detail = code, detail

    def to_row(self) -> dict[str, object]:
        """As a report has it."""
        row = asdict(self)
        for name in ("number", "where", "item", "held_out", "unused_fields"):
            del row[name]
        return {"line": self.number, "question": self.question, "answer": self.answer, **row}
