"""A system small enough to see through, that keeps the whole contract: what the service's tests serve.

It knows a table of questions and answers, matched by their words alone, whatever
stands between them. `gated` edits own one block
each and follow their paraphrases. `surgery` edits the table's row itself: the fold makes one row of all edits of
one question, so that an undo has to be solved again, and paraphrases do not follow.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from models.memory import AnswerChange, Block, EditRefused, Image, Material, Usage
from models.system import Alternative, Ask, Reply

FACTS = {
    "What is the capital of Peru?": "Lima",
    "What is the capital of Chile?": "Santiago",
    "What is the capital of France?": "Paris",
    "What is the capital of Japan?": "Tokyo",
    "What is the currency of Peru?": "sol",
    "Who wrote Hamlet?": "William Shakespeare",
}
BREAKING = "break the model"
LONGEST_QUESTION = 500
LONGEST_ANSWER = 200


def load_toy() -> ToySystem:
    return ToySystem(FACTS)


def plain(question: str) -> str:
    """Equal for two wordings that the toy cannot tell apart."""
    return " ".join(re.findall(r"\w+", question.casefold()))


@dataclass(frozen=True)
class Row:
    answer: str
    edits: tuple[str, ...] = ()


class Table(dict[str, Row]):
    """Every question that has an answer. gated: the wordings of each edit that is a gate. moved: edits by surgery."""

    def __init__(self, taught: Mapping[str, Row]) -> None:
        super().__init__(taught)
        self.gated: dict[str, Sequence[str]] = {}
        self.moved: list[str] = []


class ToySystem:
    """facts: what it answers before any edit."""

    name = "toy"
    memory = "toy/table"
    methods = ("gated", "surgery")
    reads: frozenset[str] = frozenset()

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)
        self._taught = {plain(question): Row(answer) for question, answer in facts.items()}

    @cached_property
    def base(self) -> Image:
        return Image("sha256:" + hashlib.sha256(json.dumps(self._facts).encode()).hexdigest())

    def view(self, image: Image) -> Table:
        """Rows of surgery first, so that gates answer before them; among gates the newest edit answers."""
        table = Table(self._taught)
        for block in sorted(image.ordered, key=lambda block: block.kind == "gated"):
            content = _content(block)
            row = Row(content["answer"], tuple(content.get("edits", [_edit(block)])))
            table.update((plain(question), row) for question in content["questions"])
            if block.kind == "gated":
                table.gated[_edit(block)] = content["questions"]
            else:
                table.moved += content["moved"]
        return table

    def answer(self, asks: Sequence[Ask], views: Sequence[Mapping[str, Row]]) -> list[Reply]:
        return [self._reply(ask, view) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, ask: Ask, view: Mapping[str, Row]) -> Reply:
        if ask.question == BREAKING:
            raise RuntimeError("this question breaks the toy")
        row = view.get(plain(ask.question[:LONGEST_QUESTION]))
        found = row or Row("no idea")
        others = tuple(Alternative(answer, 0.1) for answer in self._facts.values() if answer != found.answer)
        return Reply(
            row.answer if row else None,
            0.9 if row else 0.1,
            found.answer,
            None if row else "unsure",
            found.edits,
            others[: ask.top_k - 1],
            len(ask.question) > LONGEST_QUESTION,
            {"known": row is not None} if ask.explain else None,
        )

    def unmoved(
        self, before: tuple[Sequence[Ask], Mapping[str, Row]], after: tuple[Sequence[Ask], Mapping[str, Row]]
    ) -> list[bool]:
        asked = [plain(ask.question[:LONGEST_QUESTION]) for ask in before[0]]
        return [before[1].get(question) == after[1].get(question) for question in asked]

    def touched(self, before: Table, after: Table) -> None:
        """As if nothing told."""

    def speakers(self, view: Table) -> Mapping[str, tuple[str | None, ...]]:
        """Of gates; a row of surgery has to be asked for."""
        spoken = {
            edit: tuple(view[plain(question)].edits[0] for question in questions)
            for edit, questions in view.gated.items()
        }
        moved: dict[str, tuple[str, ...]] = dict.fromkeys(view.moved, ())
        return moved | {edit: who for edit, who in spoken.items() if set(who) != {edit}}

    def speaking(self, asks: Sequence[Ask], view: Table) -> list[str | None]:
        rows = [view.get(plain(ask.question[:LONGEST_QUESTION]), Row("no idea")) for ask in asks]
        return [next((edit for edit in row.edits if edit in view.gated), None) for row in rows]

    def edit(self, corrections: Sequence[AnswerChange], method: str) -> list[Material]:
        return [self._material(correction, method) for correction in corrections]

    def _material(self, correction: AnswerChange, method: str) -> Material:
        if len(correction.answer) > LONGEST_ANSWER:
            detail = f"the answer to {correction.question!r} has more than {LONGEST_ANSWER} characters"
            raise EditRefused("answer_too_long", detail)
        if correction.answer == "unreachable":
            raise EditRefused("unreachable", f"{correction.question!r}: this answer cannot be said")
        follows = correction.paraphrases if method == "gated" else ()
        questions = [correction.question, *follows]
        block = _block(correction.id, "gated" if method == "gated" else "delta", questions, correction.answer)
        return Material(correction.id, method, block, {"slots": len(questions)})

    def fold(self, materials: Sequence[Material]) -> Image:
        blocks: dict[str, Block] = {}
        rows: dict[str, list[Block]] = {}
        for block in sorted((material.block for material in materials), key=lambda block: block.order):
            if block.kind == "gated":
                blocks[block.key] = block
            else:
                rows.setdefault(plain(_content(block)["questions"][0]), []).append(block)
        merged = [_row(question, deltas) for question, deltas in rows.items()]
        return Image(self.base.base, blocks | {block.key: block for block in merged})

    def capacity(self, image: Image) -> Usage:
        return Usage(len(image.blocks), None)

    def describe(self) -> Mapping[str, Any]:
        return {"facts": len(self._facts), "engine": "table", "checkpoint": self.base.base}


def _row(question: str, deltas: Sequence[Block]) -> Block:
    """The table's row after all edits of one question: the last one answers, and the row remembers the others."""
    edits = [_edit(delta) for delta in deltas]
    answer = _content(deltas[-1])["answer"]
    content = {"questions": [question], "answer": answer, "edits": edits[-1:], "moved": edits}
    name = hashlib.sha256(json.dumps([question, edits]).encode()).hexdigest()[:16]
    return Block(f"value/{name}", 0, "value", {"json": _tensor(content)})


def _block(edit: str, kind: str, questions: Sequence[str], answer: str) -> Block:
    content = {"questions": list(questions), "answer": answer}
    return Block(f"edit/{edit}", 0, kind, {"json": _tensor(content)})


def _edit(block: Block) -> str:
    return block.key.removeprefix("edit/")


def _tensor(content: Mapping[str, Any]) -> torch.Tensor:
    return torch.tensor(list(json.dumps(content, sort_keys=True).encode()), dtype=torch.uint8)


def _content(block: Block) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(bytes(block.tensors["json"].tolist()))
    return content
