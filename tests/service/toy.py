"""A system small enough to read at a glance, with an editable memory: what the service's tests serve.

It answers from a table of questions, matched by their words alone, whatever stands between them. `gated` edits own one
block each and follow their paraphrases. `surgery` edits the table's row itself: the fold makes one row of all edits of
one question, so that an undo has to be solved again, and paraphrases do not follow.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch

from models.blocks import Block, Image, block_key
from models.memory import AnswerChange, ChangeKind, EditRefused, Material, Options, Usage, Views
from models.system import UNSURE, Alternative, AnswerDelta, Ask, Bundle, Input, Probes, Reply, Side

FACTS = {
    "What is the capital of Peru?": "Lima",
    "What is the capital of Chile?": "Santiago",
    "What is the capital of France?": "Paris",
    "What is the capital of Japan?": "Tokyo",
    "What is the currency of Peru?": "sol",
    "Who wrote Hamlet?": "William Shakespeare",
}
BREAKING = "break the model"
BREAKING_WORD = "broken"
MAX_QUESTION_CHARS = 500
MAX_ANSWER_CHARS = 200
TABLE = "toy/table"


def load_toy(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = ToyMemory(FACTS)
    return Bundle(ToySystem(memory), (memory,))


def plain(question: str) -> str:
    """Return a key that is equal for two wordings that the toy cannot tell apart."""
    return " ".join(re.findall(r"\w+", question.casefold()))


@dataclass(frozen=True)
class Row:
    answer: str
    edits: tuple[str, ...] = ()


class Table(dict[str, Row]):
    """Every question that has an answer.

    gate_wordings: the wordings of each edit that is a gate. surgery_edits: edits by surgery.
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        super().__init__(rows)
        self.gate_wordings: dict[str, Sequence[str]] = {}
        self.surgery_edits: list[str] = []

    def find(self, question: str) -> Row | None:
        return self.get(plain(question[:MAX_QUESTION_CHARS]))


class ToyOptions(Options):
    method: Literal["gated", "surgery"] = "gated"
    repeat: int = 1  # number of repetitions of the answer; only here to be set


class ToyMemory:
    """The toy's memory. facts: answers before any edit."""

    name = TABLE
    accepts: frozenset[ChangeKind] = frozenset({"answer"})
    options = ToyOptions

    def __init__(self, facts: Mapping[str, str]) -> None:
        self.facts = dict(facts)
        self._rows = {plain(question): Row(answer) for question, answer in facts.items()}

    @cached_property
    def base(self) -> Image:
        return Image("sha256:" + hashlib.sha256(json.dumps(self.facts).encode()).hexdigest())

    def view(self, image: Image) -> Table:
        """Return rows of surgery first, so that gates answer before them; among gates the newest edit answers."""
        table = Table(self._rows)
        for block in sorted(image.ordered_blocks, key=lambda block: block.kind == "gated"):
            content = _content(block)
            row = Row(content["answer"], tuple(content.get("edits", [_edit(block)])))
            table.update((plain(question), row) for question in content["questions"])
            if block.kind == "gated":
                table.gate_wordings[_edit(block)] = content["questions"]
            else:
                table.surgery_edits += content["moved"]
        return table

    def build(self, changes: Sequence[AnswerChange], options: ToyOptions) -> list[Material | EditRefused]:
        return [self._build(change, options) for change in changes]

    def _build(self, change: AnswerChange, options: ToyOptions) -> Material | EditRefused:
        if len(change.answer) > MAX_ANSWER_CHARS:
            detail = f"the answer to {change.question!r} has more than {MAX_ANSWER_CHARS} characters"
            return EditRefused("answer_too_long", detail)
        if change.answer == "unreachable":
            return EditRefused("unreachable", f"{change.question!r}: this answer cannot be said")
        paraphrases = change.paraphrases if options.method == "gated" else ()
        questions = [change.question, *paraphrases]
        answer = " ".join([change.answer] * options.repeat)
        block = _block(change.id, "gated" if options.method == "gated" else "delta", questions, answer)
        return Material(change.id, options.method, block, {"slots": len(questions)})

    def fold(self, materials: Sequence[Material]) -> Image:
        blocks: dict[str, Block] = {}
        deltas: dict[str, list[Block]] = {}
        for block in sorted((material.block for material in materials), key=lambda block: block.order):
            if block.kind == "gated":
                blocks[block.key] = block
            else:
                deltas.setdefault(plain(_content(block)["questions"][0]), []).append(block)
        rows = [_row(question, row_deltas) for question, row_deltas in deltas.items()]
        return Image(self.base.base, blocks | {block.key: block for block in rows})

    def usage(self, image: Image) -> Usage:
        return Usage(len(image.blocks), None)


class ToySystem:
    name = "toy"
    memories: tuple[str, ...] = (TABLE,)
    inputs: frozenset[Input] = frozenset()
    probes = Probes()

    def __init__(self, memory: ToyMemory) -> None:
        self._memory = memory

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [self._reply(ask, view[TABLE]) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, ask: Ask, table: Table) -> Reply:
        if ask.question == BREAKING:
            raise RuntimeError("this question breaks the toy")
        row = table.find(ask.question)
        best = row or Row("no idea")
        answers = self._memory.facts.values()
        alternatives = tuple(Alternative(answer, 0.1) for answer in answers if answer != best.answer)
        return Reply(
            row.answer if row else None,
            0.9 if row else 0.1,
            best.answer,
            None if row else UNSURE,
            best.edits,
            alternatives[: ask.top_k - 1],
            len(ask.question) > MAX_QUESTION_CHARS,
            {"known": row is not None} if ask.explain else None,
        )

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        """Word by word."""
        reply = self._reply(ask, views[TABLE])
        for word in re.findall(r"\s*\S+", reply.answer or ""):
            if word.strip() == BREAKING_WORD:
                raise RuntimeError("this word breaks the toy")
            yield AnswerDelta(word)
        yield reply

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        old, new = before.views[TABLE], after.views[TABLE]
        return [old.find(ask.question) != new.find(ask.question) for ask in before.asks]

    def find_misrouted(self, views: Views) -> Mapping[str, tuple[str | None, ...]]:
        """Return the misrouted edits among gates; a row of surgery has to be asked for."""
        table: Table = views[TABLE]
        owners = {
            edit: tuple(table[plain(question)].edits[0] for question in questions)
            for edit, questions in table.gate_wordings.items()
        }
        surgery: dict[str, tuple[str, ...]] = dict.fromkeys(table.surgery_edits, ())
        return surgery | {edit: answering for edit, answering in owners.items() if set(answering) != {edit}}

    def route(self, asks: Sequence[Ask], views: Views) -> list[str | None]:
        table: Table = views[TABLE]
        rows = [table.find(ask.question) or Row("no idea") for ask in asks]
        return [next((edit for edit in row.edits if edit in table.gate_wordings), None) for row in rows]

    def find_same(self, asks: Sequence[Ask], views: Views) -> list[tuple[str, ...]]:
        table: Table = views[TABLE]
        questions = {edit: plain(wordings[0]) for edit, wordings in table.gate_wordings.items()}
        return [
            tuple(edit for edit, question in questions.items() if question == plain(ask.question))
            for ask in asks
        ]

    def describe(self) -> Mapping[str, Any]:
        return {"facts": len(self._memory.facts), "engine": "table", "checkpoint": self._memory.base.base}


def _row(question: str, deltas: Sequence[Block]) -> Block:
    """Return the table's row after all edits of one question: the last one answers, and the row keeps the others."""
    edits = [_edit(delta) for delta in deltas]
    answer = _content(deltas[-1])["answer"]
    content = {"questions": [question], "answer": answer, "edits": edits[-1:], "moved": edits}
    name = hashlib.sha256(json.dumps([question, edits]).encode()).hexdigest()[:16]
    return Block.of(f"value/{name}", 0, "value", {"json": _tensor(content)})


def _block(edit: str, kind: str, questions: Sequence[str], answer: str) -> Block:
    content = {"questions": list(questions), "answer": answer}
    return Block.of(block_key(edit), 0, kind, {"json": _tensor(content)})


def _edit(block: Block) -> str:
    return block.key.removeprefix("edit/")


def _tensor(content: Mapping[str, Any]) -> torch.Tensor:
    return torch.tensor(list(json.dumps(content, sort_keys=True).encode()), dtype=torch.uint8)


def _content(block: Block) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(bytes(block.tensors["json"].tolist()))
    return content
