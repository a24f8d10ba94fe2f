"""A system whose memory has a kind of change of its own: rules that forbid an answer, and nothing else.

It adds no line to the service, the wire or the command.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from pydantic import Field, field_validator

from models.blocks import Block, Image, block_key
from models.memory import ChangeKind, EditRefused, Fields, FieldsChange, Material, Options, Usage, Views
from models.system import UNSURE, Ask, Bundle, Probes, Reply

RULES = "parrot/rules"
SILENT = "say nothing"


class Rule(Fields):
    """Forbid a word, or allow it again."""

    word: str = Field(min_length=1)
    forbid: bool = True

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if " " in word:
            raise ValueError("one word, without spaces")
        return word

    def summarize(self) -> str:
        return f"{'forbid' if self.forbid else 'allow'} {self.word!r}"


class Rules:
    """The words that the parrot does not repeat."""

    name = RULES
    accepts: frozenset[ChangeKind] = frozenset({"rule"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rule": Rule}
    options = Options
    base = Image("sha256:" + "0" * 64)

    def build(self, changes: Sequence[FieldsChange], options: Options) -> list[Material | EditRefused]:
        return [self._build(change) for change in changes]

    def _build(self, change: FieldsChange) -> Material | EditRefused:
        rule = change.fields
        assert isinstance(rule, Rule)
        if rule.word == SILENT.split()[0]:
            return EditRefused("needed", f"{rule.word!r} cannot be forbidden: name another word")
        data = torch.tensor(list(rule.model_dump_json().encode()), dtype=torch.uint8)
        return Material(change.id, "rule", Block.of(block_key(change.id), 0, "rule", {"json": data}))

    def fold(self, materials: Sequence[Material]) -> Image:
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> dict[str, str]:
        """Return the forbidden words, each with the edit that forbids it."""
        forbidden: dict[str, str] = {}
        for block in image.ordered_blocks:
            rule = json.loads(bytes(block.tensors["json"].tolist()))
            forbidden.pop(rule["word"], None)
            if rule["forbid"]:
                forbidden[rule["word"]] = block.key.removeprefix("edit/")
        return forbidden

    def usage(self, image: Image) -> Usage:
        return Usage(slots_used=len(image.blocks), slots_reserved=None)


class Parrot:
    """Repeats the last word of a question."""

    name, memories = "parrot", (RULES,)
    inputs: frozenset[Any] = frozenset()
    probes = Probes(core=("Say hello", "Say goodbye"))

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [self._reply(ask, view[RULES]) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, ask: Ask, forbidden: Mapping[str, str]) -> Reply:
        word = ask.question.split()[-1].strip("?")
        if word in forbidden:
            return Reply(None, 0.0, word, UNSURE, (forbidden[word],))
        return Reply(word, 0.9, word)

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "parrot"}


def load_parrot(device: torch.device, dtype: torch.dtype) -> Bundle:
    return Bundle(Parrot(), (Rules(),))
