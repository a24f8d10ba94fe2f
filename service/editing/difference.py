"""What changed between two versions, in words: each wording that an edit gives, and bystanders, asked on both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from errata.wire import Change, Diff

from service.editing.bystanders import Bystanders, Readings
from service.editing.wording import plain
from service.ledger.commit import EditRecord

MOST_ASKED = (
    1_000  # wordings asked for one diff, the newest edits'; of further ones the edits' own words are told
)

Pair: TypeAlias = tuple[EditRecord | None, EditRecord | None]  # who edits a question in the one and the other


async def diff(
    versions: tuple[int, int],
    active: tuple[Sequence[EditRecord], Sequence[EditRecord]],
    readings: tuple[Readings, Readings],
    bystanders: Bystanders,
) -> Diff:
    """active: the edits of each side, in ledger order. readings: every model on each side."""
    told = [(wording, pair) for pair in _pairs(*active) for wording in _speaking(pair).wordings]
    await _ask(told[-MOST_ASKED:], readings)
    changes = [_change(wording, pair, readings) for wording, pair in told]
    probes, others = await bystanders.changed(_edits(told[-MOST_ASKED:], readings), *readings)
    before, after = ({r.system.memory: r.image.checksum for r in side.values()} for side in readings)
    return Diff(
        from_version=versions[0],
        to_version=versions[1],
        changes=[change for change in changes if change.before != change.after],
        probes=probes,
        others=others,
        checksums_differ={memory: before[memory] != after[memory] for memory in sorted(before)},
    )


def _pairs(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[Pair]:
    """For each question that only one side edits, or each by another edit, who edits it last; in ledger order."""
    both = {edit.id for edit in old} & {edit.id for edit in new}
    sides = [{_key(edit): edit for edit in side if edit.id not in both} for side in (old, new)]
    keys = {**sides[0], **sides[1]}
    pairs = [(sides[0].get(key), sides[1].get(key)) for key in keys]
    return sorted(pairs, key=lambda pair: _speaking(pair).order)


def _key(edit: EditRecord) -> tuple[str, str]:
    return edit.model, plain(edit.question)


def _speaking(pair: Pair) -> EditRecord:
    """The edit that made the difference."""
    speaking = pair[1] or pair[0]
    assert speaking is not None, "a pair has an edit on one side at least"
    return speaking


async def _ask(told: Sequence[tuple[str, Pair]], readings: tuple[Readings, Readings]) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for wording, pair in told:
        questions[_speaking(pair).model].append(wording)
    for side in readings:
        for model in questions.keys() & side.keys():
            await side[model].ask(questions[model])


def _edits(told: Sequence[tuple[str, Pair]], readings: tuple[Readings, Readings]) -> list[EditRecord]:
    """Both sides' edits, of the models that answer now."""
    edits = {edit.id: edit for _, pair in told for edit in pair if edit}
    return [edit for edit in edits.values() if edit.model in readings[0]]


def _change(wording: str, pair: Pair, readings: tuple[Readings, Readings]) -> Change:
    old, new = pair
    edit = _speaking(pair)
    return Change(
        question=wording,
        before=_answer(wording, edit.model, old, readings[0]),
        after=_answer(wording, edit.model, new, readings[1]),
        edit=edit.id,
        change="replaced" if old and new else "added" if new else "removed",
    )


def _answer(wording: str, model: str, own: EditRecord | None, readings: Readings) -> str | None:
    """What that version says; where it was not asked, what its own edit wants."""
    said = readings[model].known.get(wording) if model in readings else None
    if said is not None:
        return said.answer
    return own.answer if own else None
