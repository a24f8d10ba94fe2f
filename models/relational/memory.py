"""`rules/program`: the rules about walks as an editable memory.

specs/rules.md, section 10. An edit is one rule and owns one block; the state is all active rules, so taking one back
leaves exactly what would be there without it.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from pydantic import Field, field_validator

from models.blocks import Block, Image
from models.kit.material import UnionMemory, read_text, write_texts
from models.memory import ChangeKind, EditRefused, Fields, FieldsChange, Material
from models.relational.program import EditedRule, RuleProgram
from models.relational.rule import WalkRule
from models.rules.syntax import RuleError

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


class RuleMemory(UnionMemory):
    """The rules of a process; without edits there are none, and every edge may be walked."""

    name = PROGRAM
    accepts: frozenset[ChangeKind] = frozenset({"rule"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rule": RuleFields}

    def make(self, change: FieldsChange) -> Material:
        """Write a rule with its label; refuse a label that names nothing."""
        fields = change.fields
        assert isinstance(fields, RuleFields)
        rule = WalkRule(fields.rule)
        if fields.label and rule.act != "infer":
            raise EditRefused("no_label", f"{rule.act!r} infers no relation: leave the label out")
        content = json.dumps({"rule": fields.rule, "label": fields.label}, sort_keys=True)
        return write_texts(change.id, RULE, {"json": content}, {"effect": rule.act})

    def view(self, image: Image) -> RuleProgram:
        """Read the rules, in the ledger's order."""
        return RuleProgram(tuple(_read(block) for block in image.ordered_blocks))


@lru_cache(1)  # systems of one process share it
def rule_memory() -> RuleMemory:
    """Return the rules of this process."""
    return RuleMemory()


@lru_cache(maxsize=4_096)
def _read(block: Block) -> EditedRule:
    content = json.loads(read_text(block, "json"))
    return EditedRule(WalkRule(content["rule"]), block.edit, content["label"])
