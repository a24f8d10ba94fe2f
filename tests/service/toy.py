"""A system small enough to see through, for tests of the service that are not about a model.

It keeps the whole contract of models.system: each edit owns one block, an exact question opens it, the latest of two
answers, and surgery moves a shared row, so that edits of that method do depend on what came before in the ledger.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from models.memory import Block, Image
from models.system import Ask, Capacity, Correction, EditRefused, Material, Reply

BASE = {"what is the capital of peru?": "Lima", "what is the capital of chile?": "Santiago"}
WIDTH = 64  # characters of an answer
View = tuple[dict[str, tuple[str, str]], float]


def load_toy() -> "ToySystem":
    return ToySystem()


class ToySystem:
    """Answers what it was told, to the letter."""

    name = "toy"
    memory = "toy/table"
    methods = ("gated", "surgery")
    base = Image("sha256:" + "0" * 64)

    def view(self, image: Image) -> View:
        told, moved = {}, 0.0
        for block in image.ordered:
            if block.kind == "gated":
                for question in _texts(block.tensors["questions"]):
                    told[question] = (_text(block.tensors["answer"]), block.key.removeprefix("edit/"))
            else:
                moved = float(block.tensors["row"])
        return told, moved

    def answer(self, asks: Sequence[Ask], views: Sequence[View]) -> list[Reply]:
        return [self._reply(ask, view) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, ask: Ask, view: View) -> Reply:
        told, moved = view
        if ask.question == "break the model":
            raise RuntimeError("this question breaks the toy")
        question = _folded(ask.question)
        if question in told:
            answer, edit = told[question]
            return Reply(answer, 0.99, answer, edits=(edit,))
        if question == "how far was the row moved?":
            return Reply(repr(moved), 0.99, repr(moved))
        known = BASE.get(question)
        return Reply(known, 0.9 if known else 0.1, known or "?", None if known else "unsure")

    def edit(self, corrections: Sequence[Correction], method: str) -> list[Material]:
        return [self._material(correction, method) for correction in corrections]

    def _material(self, correction: Correction, method: str) -> Material:
        if correction.answer == "unreachable":
            raise EditRefused("unreachable", f"{correction.question!r}: this answer cannot be said")
        questions = [_folded(text) for text in (correction.question, *correction.paraphrases)]
        tensors = {"answer": _bytes(correction.answer), "questions": torch.stack([_bytes(q) for q in questions])}
        kind = "gated"
        if method == "surgery":
            kind, tensors = "delta", {"delta": torch.tensor(len(correction.answer) / 7)}
        return Material(correction.id, method, Block(f"edit/{correction.id}", 0, kind, tensors), {"slots": 1})

    def fold(self, materials: Sequence[Material]) -> Image:
        ordered = sorted((m.block for m in materials), key=lambda block: block.order)
        blocks = {block.key: block for block in ordered if block.kind == "gated"}
        deltas = [block for block in ordered if block.kind == "delta"]
        if deltas:
            row = torch.zeros(())
            for block in deltas:
                row = row + block.tensors["delta"]
            blocks["value/0"] = Block("value/0", 0, "value", {"row": row})
        return Image(self.base.base, blocks)

    def capacity(self, image: Image) -> Capacity:
        return Capacity(len(image.blocks), 1000)

    def describe(self) -> Mapping[str, Any]:
        return {"checkpoint": self.base.base}


def _folded(question: str) -> str:
    return " ".join(question.casefold().split())[:WIDTH]


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(text.encode()[:WIDTH].ljust(WIDTH, b"\0")), dtype=torch.uint8)


def _text(row: Tensor) -> str:
    return bytes(row.tolist()).rstrip(b"\0").decode()


def _texts(rows: Tensor) -> list[str]:
    return [_text(row) for row in rows]
