"""`rules/program`: the rules about walks as an editable memory.

specs/rules.md, section 10. An edit is one rule and owns one block; the state is all active rules, so taking one back
leaves exactly what would be there without it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from pydantic import Field, field_validator

from models.attention.rules.syntax import RuleError
from models.memory import (
    Block,
    ChangeKind,
    EditRefused,
    Fields,
    FieldsChange,
    Image,
    Material,
    Options,
    Usage,
    block_key,
)
from models.relational.rules.program import EditedRule, RuleProgram
from models.relational.rules.rule import WalkRule

PROGRAM = "rules/program"
RULE = "rule"  # kind of the change, name of its method and of its blocks
MAX_CHARS = 2_000  # characters of a rule


class RuleFields(Fields):
    """A rule about the walks of questions."""

    rule: str = Field(min_length=1, max_length=MAX_CHARS)
    label: str = Field("", max_length=200)

    @field_validator("rule")
    @classmethod
    def _check(cls, rule: str) -> str:
        try:
            WalkRule(rule).validate()
        except RuleError as error:
            raise ValueError(str(error)) from error
        return rule

    def summarize(self) -> str:
        """Return the rule itself."""
        return " ".join(self.rule.split())


class RuleMemory:
    """The rules of a process; without edits there are none, and every edge may be walked."""

    name = PROGRAM
    accepts: frozenset[ChangeKind] = frozenset({"rule"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rule": RuleFields}
    options = Options
    base = Image("sha256:" + hashlib.sha256(PROGRAM.encode()).hexdigest())

    def build(self, changes: Sequence[FieldsChange], options: Options) -> list[Material | EditRefused]:
        """Turn rules into blocks, each from its own text alone."""
        return [self._build(change) for change in changes]

    def _build(self, change: FieldsChange) -> Material | EditRefused:
        fields = change.fields
        assert isinstance(fields, RuleFields)
        rule = WalkRule(fields.rule)
        if fields.label and rule.act != "infer":
            return EditRefused("no_label", f"{rule.act!r} infers no relation: leave the label out")
        content = json.dumps({"rule": fields.rule, "label": fields.label}, sort_keys=True)
        tensor = torch.tensor(list(content.encode()), dtype=torch.uint8)
        return Material(
            change.id, RULE, Block.of(block_key(change.id), 0, RULE, {"json": tensor}), {"effect": rule.act}
        )

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return all active rules, each a block."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> RuleProgram:
        """Read the rules, in the ledger's order."""
        return RuleProgram(tuple(_read(block) for block in image.ordered_blocks))

    def usage(self, image: Image) -> Usage:
        """Count the rules; there is room for any number."""
        return Usage(slots_used=len(image.blocks), slots_reserved=None)


@lru_cache(1)  # systems of one process share it
def rule_memory() -> RuleMemory:
    """Return the rules of this process."""
    return RuleMemory()


@lru_cache(maxsize=4_096)
def _read(block: Block) -> EditedRule:
    content = json.loads(bytes(block.tensors["json"].tolist()))
    return EditedRule(WalkRule(content["rule"]), block.edit, content["label"])
