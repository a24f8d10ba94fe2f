"""Lines are counted, keep their numbers, are bounded and expire."""

from __future__ import annotations

import pytest
import redis

from service.curation.gaps import KEYS, Sighting, Worklist
from service.errors import NotFound
from tests.service.gaps.conftest import Clock

DAY_S = 86_400.0


def sight(question: str, count: int = 1, at: float = 1_000_000.0, model: str = "nkb") -> Sighting:
    return Sighting(question, model, "declined", count, at)


async def test_the_same_question_is_one_line_and_the_most_asked_comes_first(worklist: Worklist) -> None:
    await worklist.add([sight("Who runs HR?"), sight("Where is the depot?", 2)])
    await worklist.add([sight("who runs  HR", 4, at=1_000_100.0)])
    gaps, total = await worklist.read(10)
    assert [(gap.line, gap.sighting.question, gap.sighting.count) for gap in gaps] == [
        (1, "who runs  HR", 5),
        (2, "Where is the depot?", 2),
    ]
    assert (total, gaps[0].sighting.at) == (2, 1_000_100.0)


async def test_of_too_many_lines_the_least_asked_go_the_oldest_first(worklist: Worklist) -> None:
    await worklist.add([sight("a", 3), sight("b"), sight("c"), sight("d"), sight("e"), sight("f")])
    gaps, total = await worklist.read(10)
    assert (total, {gap.sighting.question for gap in gaps}) == (4, {"a", "d", "e", "f"})


async def test_a_line_ends_when_it_was_not_asked_for_too_long(worklist: Worklist, clock: Clock) -> None:
    await worklist.add([sight("old"), sight("asked again")])
    clock.now += 0.7 * DAY_S
    await worklist.add([sight("asked again", at=clock.now)])
    clock.now += 0.7 * DAY_S
    gaps, total = await worklist.read(10)
    assert [(gap.sighting.question, gap.sighting.count) for gap in gaps] == [("asked again", 2)]
    assert total == 1


async def test_no_text_outlives_its_time_even_where_no_question_comes(
    worklist: Worklist, raw: redis.Redis
) -> None:
    await worklist.add([sight("a")])
    assert {raw.ttl(key) for key in KEYS} == {int(DAY_S)}


async def test_a_line_that_is_taken_out_is_gone_and_its_number_is_not_used_again(worklist: Worklist) -> None:
    await worklist.add([sight("a")])
    assert (await worklist.remove(1)).sighting.question == "a"
    with pytest.raises(NotFound, match="line 1 is not in the worklist, or not any more"):
        await worklist.remove(1)
    await worklist.add([sight("a")])
    assert (await worklist.get(2)).sighting.count == 1
