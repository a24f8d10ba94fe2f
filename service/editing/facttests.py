"""Fact tests: the question and the answer that came with an edit, asked again for ever.

holding      the answer comes out
superseded   a later edit answers the question anew, as somebody wanted
broken       neither: something else changed it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from errata.wire import BrokenTest

from models.system import Reply, System, View
from service.editing.questions import ask
from service.ledger.commit import EDITS_PER_COMMIT, EditRecord


@dataclass(frozen=True)
class Tested:
    """How many fact tests came out, and those that did not."""

    holding: int
    superseded: int
    broken: tuple[BrokenTest, ...]

    @property
    def total(self) -> int:
        return self.holding + self.superseded + len(self.broken)


def run(system: System, view: View, active: Sequence[EditRecord], chosen: Sequence[EditRecord]) -> Tested:
    """Test the chosen edits on a view in which `active` are in force."""
    order = {record.id: record.order for record in active}
    replies = ask(system, view, [record.question for record in chosen])
    states = [_state(record, reply, order) for record, reply in zip(chosen, replies, strict=True)]
    broken = [
        BrokenTest(
            edit=record.id,
            version=record.order // EDITS_PER_COMMIT,
            question=record.question,
            expected=record.answer,
            actual=reply.answer,
        )
        for record, reply, state in zip(chosen, replies, states, strict=True)
        if state == "broken"
    ]
    return Tested(states.count("holding"), states.count("superseded"), tuple(broken))


def _state(record: EditRecord, reply: Reply, order: dict[str, int]) -> str:
    if reply.answer == record.answer:
        return "holding"
    later = any(order.get(edit, 0) > record.order for edit in reply.edits)
    return "superseded" if later else "broken"


def superseded(active: Sequence[EditRecord]) -> set[str]:
    """Active edits that another active edit was made to replace."""
    ids = {record.id for record in active}
    return ids & {replaced for record in active for replaced in record.notes.get("replaces", [])}
