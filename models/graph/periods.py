"""Which facts are current on a day, by their begin, end, point in time and rank.

Wikidata's qualifiers and ranks have this meaning (https://www.wikidata.org/wiki/Help:Ranking): of a relation's
statements that hold, the preferred ones are its value, otherwise the normal ones. A fact of a point in time holds until
the next one of its relation. Dates are written as exactly as they are known: "44 BC", "1880s", "1889-03-31".
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from models.graph.knowledge import Fact
    from models.graph.statement import Statement

UNKNOWN = "unknown"  # a date that is there, though it is not known
BEST, DEPRECATED = "preferred", "deprecated"
_DATE = re.compile(r"(\d{1,12})(s)?(?:-(\d\d))?(?:-(\d\d))?(?:T\S*)?( BC)?", re.ASCII)
_LAST = 99  # above each month and each day
_MONTHS = 12
_LEAP_YEAR = 2000

Moment: TypeAlias = tuple[int, int, int]  # year, month, day


@lru_cache(1 << 12)
def find_bounds(date: str) -> tuple[Moment, Moment] | None:
    """Return the first and the last moment that a date may mean; None for one that cannot be read."""
    match = _DATE.fullmatch(date)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[3] or 0), int(match[4] or 0)
    first, last = (year, year + 9) if match[2] else (year, year)
    if match[5]:
        first, last = -last, -first
    return (first, month, day), (last, month or _LAST, day or _LAST)


def is_possible(date: str) -> bool:
    """Return whether a date can be read, and can be; each fourth year has a 29 February, as in the Julian calendar."""
    if (bounds := find_bounds(date)) is None:
        return False
    year, month, day = bounds[0]
    leap = _LEAP_YEAR + (year % 4 if year > 0 else 0)
    if year == bounds[1][0] == 0:  # 1 BC is followed by 1
        return False
    return month <= _MONTHS and day <= (monthrange(leap, month)[1] if month else 0)


def is_reversed(begin: str, end: str) -> bool:
    """Return whether a period surely ends before it begins."""
    first, last = find_bounds(begin), find_bounds(end)
    return bool(first and last and last[1] < first[0])


def holds(fact: Fact | Statement, as_of: str) -> bool:
    """Return whether a fact has begun and has not ended on a day, or on one of a month, a year or a decade.

    An end that is not known has passed.
    """
    day, begin, time, end = map(find_bounds, (as_of, fact.begin, fact.time, fact.end))
    assert day is not None, "a day is a date"
    if any(bounds is not None and bounds[0] > day[1] for bounds in (begin, time)):
        return False
    return not fact.end or (end is not None and end[1] >= day[0])


def select_current(facts: Sequence[Fact], as_of: str) -> tuple[Fact, ...]:
    """Return the facts that are current on a day; those that have ended, or not begun, are history."""
    valid = [fact for fact in facts if fact.rank != DEPRECATED and holds(fact, as_of)]
    with_best = {fact.relation for fact in valid if fact.rank == BEST}
    best = [fact for fact in valid if fact.relation not in with_best or fact.rank == BEST]
    newest: dict[str, Moment] = {}
    for fact in best:
        if bounds := find_bounds(fact.time):
            newest[fact.relation] = max(newest.get(fact.relation, bounds[0]), bounds[0])
    return tuple(
        fact
        for fact in best
        if (bounds := find_bounds(fact.time)) is None or bounds[0] == newest[fact.relation]
    )
