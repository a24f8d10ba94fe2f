"""Within one request: which corrections say what another has said already, and which say the opposite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from service.measuring.wanted import Wanted
from service.measuring.wording import plain


@dataclass(frozen=True)
class Contradiction:
    """Two places of the request that answer one wording differently."""

    earlier: int
    later: int
    wording: str


def contradiction(wanted: Sequence[Wanted]) -> Contradiction | None:
    """The first there is, if there is one."""
    for first, one, wording in _met(wanted):
        if _contradicts(first, one):
            return Contradiction(first.place, one.place, wording)
    return None


def once(wanted: Sequence[Wanted]) -> list[Wanted]:
    """In the order of the request, repetitions marked. Of edits that do not contradict each other."""
    fresh = {id(one) for first, one, _ in _met(wanted) if first is one}
    return [replace(one, repeated=bool(one.wordings) and id(one) not in fresh) for one in _in_order(wanted)]


def _met(wanted: Sequence[Wanted]) -> Iterator[tuple[Wanted, Wanted, str]]:
    """For each wording of each edit: who spoke of it first, who does now, and the wording."""
    said: dict[tuple[str, ...], Wanted] = {}
    for one in _in_order(wanted):
        for wording, what in _about(one):
            yield said.setdefault((one.model, *what), one), one, wording


def _in_order(wanted: Sequence[Wanted]) -> list[Wanted]:
    return sorted(wanted, key=lambda one: one.place)


def _about(one: Wanted) -> list[tuple[str, tuple[str, ...]]]:
    """What is answered, in words and as a key: its wordings; where nobody can ask for it, what it is said of."""
    if one.wordings or one.told is None:
        return [(wording, (plain(wording),)) for wording in one.wordings]
    if one.triple is None:
        return [(str(one.notes["define"]), (subject, "")) for subject in one.told]
    subject, relation = one.triple.subject, one.triple.relation
    return [(f"{relation.lstrip('@')} of {subject}", (subject, relation))]


def _contradicts(first: Wanted, second: Wanted) -> bool:
    """Values that one fact adds to those of another are no contradiction."""
    if first.told is not None and first.triple is None:
        mine, other = first.notes, second.notes
        return any(mine[name] != other[name] for name in ("holds", "label") if name in mine and name in other)
    if first.triple is None or second.triple is None:
        return first.answer != second.answer
    if first.triple.subject != second.triple.subject:  # namesakes
        return False
    return "set" in (first.triple.act, second.triple.act) and first.triple != second.triple
