"""What changed between two versions, in words: each wording that an edit gives, and bystanders, asked on both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from errata.wire import Change, Diff, FactChange

from models.graph.memory import GRAPH
from service.ledger.commit import EditRecord
from service.measuring.bystanders import Bystanders
from service.measuring.standing import Readings
from service.measuring.wording import plain

MOST_ASKED = 1_000  # wordings asked for one diff, the newest edits'; of others the edits' own words are told

Sides: TypeAlias = tuple[Readings, Readings]
Key: TypeAlias = tuple[str, str]  # model, plain wording
Said: TypeAlias = Mapping[Key, tuple[str, EditRecord]]  # the wording, and the last edit that has it


@dataclass(frozen=True)
class Edited:
    """A wording, and who edits it last on the one side and the other; on one of them at least."""

    question: str
    old: EditRecord | None
    new: EditRecord | None

    @property
    def speaking(self) -> EditRecord:
        """The edit that made the difference."""
        edit = self.new or self.old
        assert edit is not None, "somebody edits it"
        return edit

    @property
    def change(self) -> Literal["added", "removed", "replaced"]:
        return "replaced" if self.old and self.new else "added" if self.new else "removed"


async def diff(
    versions: tuple[int, int],
    active: tuple[Sequence[EditRecord], Sequence[EditRecord]],
    readings: Sides,
    bystanders: Bystanders,
) -> Diff:
    """active: the edits of each side, in ledger order. readings: every model on each side."""
    edited = _edited(*active)
    asked = [one for one in edited[-MOST_ASKED:] if one.speaking.model in readings[0]]
    await _ask(asked, readings)
    changes = [_change(one, readings) for one in edited]
    edits = {edit.id: edit for one in asked for edit in (one.old, one.new) if edit}
    kept = {edit.id for edit in active[0]} & {edit.id for edit in active[1]}
    earlier = [edit for edit in active[1] if edit.id in kept][-MOST_ASKED:]
    effects = await bystanders.changed(list(edits.values()), *readings, versions, earlier)
    before, after = ({r.system.memory: r.image.checksum for r in side.values()} for side in readings)
    return Diff(
        from_version=versions[0],
        to_version=versions[1],
        changes=[change for change in changes if change.before != change.after],
        probes=effects.compared,
        unmeasured_probes=effects.unmeasured_probes,
        side_effects=effects.changed,
        facts=_facts(*active),
        checksums_differ={memory: before[memory] != after[memory] for memory in sorted(before)},
    )


def _facts(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[FactChange]:
    """What only one side was told about the graph."""
    before, after = ({edit.id: edit for edit in side if edit.memory == GRAPH} for side in (old, new))
    apart = [edit for id, edit in (before | after).items() if (id in before) != (id in after)]
    return [_fact(edit, edit.id in after) for edit in sorted(apart, key=lambda edit: edit.order)]


def _fact(edit: EditRecord, added: bool) -> FactChange:
    notes = edit.notes
    if edit.triple is None and "triples" in notes:
        subject, relation, text, act = notes.get("source", ""), "", f"{notes['triples']:,} triples", "import"
    elif edit.triple is None:
        subject, relation, text, act = notes["define"], "holds", str(notes.get("holds", "")), "set"
    else:
        subject, relation, text, act = notes["subject"], notes["relation"], notes["object"], edit.triple.act
    return FactChange(
        edit=edit.id,
        subject=subject,
        relation=relation,
        object=text,
        act=act,
        change="added" if added else "removed",
    )


def _edited(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[Edited]:
    """Each wording that only one side edits, or each by another edit, in ledger order."""
    both = {edit.id for edit in old} & {edit.id for edit in new}
    before, after = (_last([edit for edit in side if edit.id not in both]) for side in (old, new))
    keys = {**before, **after}
    edited = [Edited(keys[key][0], _edit(before, key), _edit(after, key)) for key in keys]
    return sorted(edited, key=lambda one: one.speaking.order)


def _last(edits: Sequence[EditRecord]) -> Said:
    return {(edit.model, plain(wording)): (wording, edit) for edit in edits for wording in edit.wordings}


def _edit(side: Said, key: Key) -> EditRecord | None:
    return side[key][1] if key in side else None


async def _ask(edited: Sequence[Edited], readings: Sides) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for one in edited:
        questions[one.speaking.model].append(one.question)
    for side in readings:
        for model, some in questions.items():
            await side[model].ask(some)


def _change(edited: Edited, readings: Sides) -> Change:
    edit = edited.speaking
    known = [side[edit.model].known.get(edited.question) if edit.model in side else None for side in readings]
    own = [one.answer if one else None for one in (edited.old, edited.new)]
    before, after = (said.answer if said else told for said, told in zip(known, own, strict=True))
    return Change(
        question=edited.question,
        before=before,
        after=after,
        is_measured=all(known),
        edit=edit.id,
        change=edited.change,
        model=edit.model,
    )
