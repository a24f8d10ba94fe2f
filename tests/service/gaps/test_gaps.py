"""Questions without an answer, in groups, and their worklist."""

from datetime import UTC, datetime, timedelta

import pytest
import redis
from errata.wire import Gap

from service.curation.gap_groups import find_thing, group_by_fact, group_by_thing
from service.curation.gaps import KEYS, Occurrence, Worklist
from service.errors import NotFound
from service.ledger.connection import Connection


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worklist(connection: Connection, clock: Clock) -> Worklist:
    """Make a worklist of four lines at most, each kept for a day."""
    return Worklist(connection, timedelta(days=1), max_lines=4, clock=clock)


def gap(line: int, question: str, thing: str, count: int) -> Gap:
    return Gap(
        line=line,
        question=question,
        model="auto",
        kind="uncovered",
        count=count,
        last=datetime.fromtimestamp(0, UTC),
        thing=thing,
    )


GAPS = [
    gap(1, "When is the Tide Mill open on Monday?", "Tide Mill", 5),
    gap(2, "when is the Rope Walk open on monday", "Rope Walk", 2),
    gap(3, "What is the fax number of Rope Walk?", "Rope Walk", 4),
    gap(4, "And on Sunday?", "", 9),
]


def test_one_missing_fact_of_several_things_is_one_group() -> None:
    groups = [(g.name, g.members, g.count, g.lines) for g in group_by_fact(GAPS)]
    assert groups == [
        ("When is the … open on Monday?", ["Tide Mill", "Rope Walk"], 7, [1, 2]),
        ("What is the fax number of …?", ["Rope Walk"], 4, [3]),
    ]


def test_missing_facts_of_one_thing_are_one_group() -> None:
    groups = [(g.name, g.members, g.count) for g in group_by_thing(GAPS)]
    assert groups == [
        ("Rope Walk", ["What is the fax number of …?", "when is the … open on monday"], 6),
        ("Tide Mill", ["When is the … open on Monday?"], 5),
    ]


@pytest.mark.parametrize(
    ("question", "subject", "thing"),
    [
        ("Is the TIDE mill open?", "Tide Mill", "TIDE mill"),
        ("Is the Tide Millhouse open?", "Tide Mill", ""),
        ("Is the (old) Mill? open?", "(old) Mill?", ""),
        ("Who?", "Tide Mill", ""),
    ],
)
def test_the_thing_is_the_subject_that_the_question_names(question: str, subject: str, thing: str) -> None:
    assert find_thing(question, {"facts": [{"subject": subject}]}) == thing
    assert find_thing(question, {"facts": []}) == ""


DAY_S = 86_400.0


def sight(question: str, count: int = 1, at: float = 1_000_000.0, model: str = "nkb") -> Occurrence:
    return Occurrence(question, model, "declined", count, at)


async def test_the_same_question_is_one_line_and_the_most_asked_comes_first(worklist: Worklist) -> None:
    await worklist.add([sight("Who runs HR?"), sight("Where is the depot?", 2)])
    await worklist.add([sight("who runs  HR", 4, at=1_000_100.0)])
    gaps, total = await worklist.read(10)
    assert [(gap.line, gap.question, gap.count) for gap in gaps] == [
        (1, "who runs  HR", 5),
        (2, "Where is the depot?", 2),
    ]
    assert (total, gaps[0].last.timestamp()) == (2, 1_000_100.0)


async def test_of_too_many_lines_the_least_asked_go_the_oldest_first(worklist: Worklist) -> None:
    await worklist.add([sight("a", 3), sight("b"), sight("c"), sight("d"), sight("e"), sight("f")])
    gaps, total = await worklist.read(10)
    assert (total, {gap.question for gap in gaps}) == (4, {"a", "d", "e", "f"})


async def test_a_line_ends_when_it_was_not_asked_for_too_long(worklist: Worklist, clock: Clock) -> None:
    await worklist.add([sight("old"), sight("asked again")])
    clock.now += 0.7 * DAY_S
    await worklist.add([sight("asked again", at=clock.now)])
    clock.now += 0.7 * DAY_S
    gaps, total = await worklist.read(10)
    assert [(gap.question, gap.count) for gap in gaps] == [("asked again", 2)]
    assert total == 1


async def test_no_text_outlives_its_time_even_where_no_question_comes(
    worklist: Worklist, raw: redis.Redis
) -> None:
    await worklist.add([sight("a")])
    assert {raw.ttl(key) for key in KEYS} == {int(DAY_S)}


async def test_a_line_that_is_taken_out_is_gone_and_its_number_is_not_used_again(worklist: Worklist) -> None:
    await worklist.add([sight("a")])
    assert (await worklist.remove(1)).question == "a"
    with pytest.raises(NotFound, match="line 1 is not in the worklist, or not any more"):
        await worklist.remove(1)
    await worklist.add([sight("a")])
    assert (await worklist.get(2)).count == 1
