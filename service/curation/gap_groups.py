"""Lines of the worklist that miss the same fact, of one thing or of many, taken together.

A declined question names the thing of which the nearest fact is known. The rest of the question, without the thing's
name, is the missing fact: the same question about another thing misses the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from errata.wire import Gap, GapGroup
from errata.wire.wording import normalize_question
from more_itertools import map_reduce

PLACE = "…"  # stands for the name of the thing
MAX_MEMBERS = 100  # things of a group that are named


def find_thing(question: str, answer: dict[str, Any]) -> str:
    """Return the name, as the question has it, of the thing that the nearest fact of a declined answer is about."""
    for fact in answer.get("facts") or ():
        match = re.search(rf"\b{re.escape(fact['subject'])}\b", question, re.IGNORECASE)
        if match:
            return match[0]
    return ""


def missing_fact(gap: Gap) -> str:
    """Return the question of a line with PLACE for its thing."""
    return gap.question.replace(gap.thing, PLACE, 1)


def group_by_fact(gaps: Iterable[Gap]) -> list[GapGroup]:
    """Return the groups of lines that miss one fact, the most asked first."""
    return _group(
        gaps, lambda gap: normalize_question(missing_fact(gap)), missing_fact, lambda gap: gap.thing
    )


def group_by_thing(gaps: Iterable[Gap]) -> list[GapGroup]:
    """Return the groups of lines about one thing, the most asked first."""
    return _group(gaps, lambda gap: gap.thing.casefold(), lambda gap: gap.thing, missing_fact)


def _group(
    gaps: Iterable[Gap], key: Callable[[Gap], str], name: Callable[[Gap], str], member: Callable[[Gap], str]
) -> list[GapGroup]:
    by_key = map_reduce((gap for gap in gaps if gap.thing), key)
    groups = [make_group(lines, name, member) for lines in by_key.values()]
    return sorted(groups, key=lambda group: -group.count)


def make_group(gaps: Sequence[Gap], name: Callable[[Gap], str], member: Callable[[Gap], str]) -> GapGroup:
    in_order = sorted(gaps, key=lambda gap: -gap.count)
    members = {member(gap).casefold(): member(gap) for gap in reversed(in_order)}
    return GapGroup(
        name=name(in_order[0]),
        members=list(reversed(members.values()))[:MAX_MEMBERS],
        n_members=len(members),
        count=sum(gap.count for gap in in_order),
        lines=[gap.line for gap in in_order[:MAX_MEMBERS]],
    )
