"""What changed between two versions, in words: each question that an edit touches, asked on both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from errata.wire import Change, Diff

from service.editing.reading import Reading
from service.editing.wording import plain
from service.ledger.commit import EditRecord

MOST_ASKED = (
    1_000  # questions asked for one diff, the newest edits'; of further ones the edits' own words are told
)

Readings: TypeAlias = Mapping[str, Reading]
Pair: TypeAlias = tuple[
    EditRecord | None, EditRecord | None
]  # the edit of one question in the one and the other


async def diff(
    versions: tuple[int, int],
    active: tuple[Sequence[EditRecord], Sequence[EditRecord]],
    readings: tuple[Readings, Readings],
) -> Diff:
    """active: the edits of each side, in ledger order. readings: every model on each side."""
    pairs = _pairs(*active)
    await _ask(pairs[-MOST_ASKED:], readings)
    changes = [_change(pair, readings) for pair in pairs]
    before, after = ({r.system.memory: r.image.checksum for r in side.values()} for side in readings)
    return Diff(
        from_version=versions[0],
        to_version=versions[1],
        changes=[change for change in changes if change.before != change.after],
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


async def _ask(pairs: Sequence[Pair], readings: tuple[Readings, Readings]) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        edit = _speaking(pair)
        questions[edit.model].append(edit.question)
    for side in readings:
        for model in questions.keys() & side.keys():
            await side[model].ask(questions[model])


def _change(pair: Pair, readings: tuple[Readings, Readings]) -> Change:
    old, new = pair
    edit = _speaking(pair)
    return Change(
        question=edit.question,
        before=_answer(edit, old, readings[0]),
        after=_answer(edit, new, readings[1]),
        edit=edit.id,
        change="replaced" if old and new else "added" if new else "removed",
    )


def _answer(asked: EditRecord, own: EditRecord | None, readings: Readings) -> str | None:
    """What that version says; where it was not asked, what its own edit wants."""
    said = readings[asked.model].known.get(asked.question) if asked.model in readings else None
    if said is not None:
        return said.answer
    return own.answer if own else None
