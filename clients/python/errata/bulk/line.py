"""One correction of a file: where it stands, what it asks for, and what became of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

from errata.wire import EditItem, FactItem, Item, RelationItem

Status = Literal["done", "no-op", "duplicate", "superseded", "refused", "taken back", "not sent"]


@dataclass
class Line:
    """number: of the line it ends on; of a JSON file, it begins on. where: as a person is told of it, with the file.

    item: None where it cannot be used; `detail` then says why. rephrased: wordings to ask but not to teach.
    unused: names of what it brings along and nobody uses.

    status: `no-op` where the answer is right already, `superseded` where a later line answers anew, `duplicate` where
    an earlier one says the same, `taken back` where it was made before and is not in force. detail, code: why it is
    none of the first two. version: whose commit made it.
    wordings, follow: how many paraphrases were given, and get the answer too. asked, came_out: the same of `rephrased`.
    """

    number: int
    where: str
    item: Item | None = None
    rephrased: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    status: Status = "not sent"
    code: str = ""
    detail: str = ""
    version: int | None = None
    before: str | None = None
    holds: bool | None = None
    wordings: int = 0
    follow: int = 0
    asked: int = 0
    came_out: int = 0
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
    def open(self) -> bool:
        """Whether it is to be sent."""
        return self.item is not None and self.status == "not sent"

    def refuse(self, code: str, detail: str) -> None:
        self.status, self.code, self.detail = (
            "superseded" if code == "superseded" else "refused",
            code,
            detail,
        )

    def told(self) -> dict[str, object]:
        """As a report has it."""
        own = asdict(self)
        for name in ("number", "where", "item", "rephrased", "unused"):
            del own[name]
        return {"line": self.number, "question": self.question, "answer": self.answer, **own}
