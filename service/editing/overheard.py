"""Which of many edits would be answered for by another, once all of them are there: told before any is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from errata.wire import RefusedEdit

from service.measuring.answered import DOES_NOT_HOLD, ask, failure, holds
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.wanted import Wanted

ANSWERED_FOR = (
    "{question!r} would be answered {said!r} and not {answer!r}, by {other}; leave one of the two out"
)


async def overheard(
    fresh: Sequence[Wanted], present: Present, after: Mapping[str, Reading]
) -> dict[int, RefusedEdit]:
    """By place. after: the memories with them. Where a system does not tell who speaks, its edits are asked."""
    wanted = {one.id: one for one in fresh}
    found: dict[int, RefusedEdit] = {}
    unknown = []
    for one in fresh:
        who = (await after[one.model].speakers()).of(one.id, 0)
        if who is None:
            unknown.append(one)
        elif who != one.id:
            other = wanted.get(who) or present.edits[who]
            if other.answer != one.answer:
                place = f"edits.{wanted[who].place}" if who in wanted else "an edit that is there already"
                detail = ANSWERED_FOR.format(
                    question=one.question,
                    said=other.answer,
                    answer=one.answer,
                    other=f"{place}, {other.question!r}",
                )
                found[one.place] = _refused(one, detail)
    await ask(after, unknown)
    failing = [one for one in unknown if not holds(one, after)]
    return found | {one.place: _refused(one, failure(one, after).detail) for one in failing}


def _refused(one: Wanted, detail: str) -> RefusedEdit:
    return RefusedEdit(place=one.place, code="edit_refused", reason=DOES_NOT_HOLD, detail=detail)
