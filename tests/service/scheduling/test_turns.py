"""Callers take turns by the work that they ask for, and so do the requests of one caller."""

from dataclasses import dataclass

import pytest

from service.scheduling.turns import Asker, Turns


@dataclass(eq=False)
class Piece:
    asker: Asker
    work: int = 1


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Turns[Piece]:
    return Turns(quantum=8, clock=clock)


def add(turns: Turns[Piece], caller: str, count: int, work: int = 1, request: str = "batch") -> None:
    for _ in range(count):
        turns.add(Piece(Asker(caller, request), work))


def callers(batch: list[Piece]) -> dict[str, int]:
    """Return the work of each caller in a batch."""
    totals: dict[str, int] = {}
    for piece in batch:
        totals[piece.asker.caller] = totals.get(piece.asker.caller, 0) + piece.work
    return totals


def test_two_callers_have_equal_shares_of_the_work_whoever_came_first(turns: Turns[Piece]) -> None:
    add(turns, "first", 256, work=4)
    add(turns, "second", 256)
    totals = callers([piece for _ in range(8) for piece in turns.take(32)])
    assert totals["first"] == pytest.approx(totals["second"], abs=16)


def test_a_single_question_is_in_the_next_batch_or_the_one_after_it(turns: Turns[Piece]) -> None:
    add(turns, "stranger", 256, work=20)
    add(turns, "stranger", 4, work=32, request="another")
    add(turns, "victim", 1)
    assert "victim" in callers(turns.take(32)) | callers(turns.take(32))


def test_the_requests_of_one_caller_take_turns(turns: Turns[Piece]) -> None:
    add(turns, "same", 256)
    add(turns, "same", 1, request="single")
    assert Asker("same", "single") in [piece.asker for piece in turns.take(32)]


def test_a_batch_ends_where_the_next_would_be_too_much_and_a_large_one_is_alone(turns: Turns[Piece]) -> None:
    add(turns, "alone", 1)
    add(turns, "alone", 2, work=20)
    add(turns, "alone", 1, work=99)
    assert [callers(turns.take(32)) for _ in range(3)] == [{"alone": 21}, {"alone": 20}, {"alone": 99}]


def test_who_has_a_batch_under_way_leaves_room_for_others(turns: Turns[Piece]) -> None:
    add(turns, "victim", 1)
    add(turns, "stranger", 256)
    running = turns.take(32)
    assert turns.take(32, running) == []
    add(turns, "victim", 2)
    assert callers(turns.take(32, running))["victim"] == 2


def test_the_more_batches_run_the_more_turns_are_under_way_for_one(turns: Turns[Piece]) -> None:
    add(turns, "victim", 1)
    add(turns, "stranger", 256)
    running = turns.take(32)
    for _ in range(3):
        running += turns.take(32, running, n_turns=4)
    assert callers(running) == {"victim": 1, "stranger": 32}
    assert turns.take(32, running, n_turns=4) == []


@pytest.mark.parametrize("other", ["victim", "stranger"])
def test_who_rests_lets_others_go_first(turns: Turns[Piece], clock: Clock, other: str) -> None:
    turns.add(Piece(Asker(other, "single")))
    add(turns, "stranger", 2, work=32, request="long")
    turns.take(32)
    turns.rest(Asker("stranger", "long"), 0.2)
    assert turns.take(32) == []
    turns.add(Piece(Asker(other, "single")))
    assert [piece.asker for piece in turns.take(32)] == [Asker(other, "single")]
    clock.now += 0.2
    assert callers(turns.take(32)) == {"stranger": 32}


def test_a_stranger_has_no_whole_batch_after_a_pass_that_took_long(turns: Turns[Piece], clock: Clock) -> None:
    """On a slow machine one pass takes longer than RECENT_S, and who was answered in it asks at once again."""
    add(turns, "stranger", 256)
    for _ in range(3):
        add(turns, "victim", 1, request="short")
        batch = turns.take(32)
        assert callers(batch) == {"victim": 1, "stranger": 8}
        clock.now += 2.0
        turns.expect(batch)
        assert callers(turns.take(32)) == {"stranger": 8}


def test_a_caller_who_is_alone_again_fills_whole_batches(turns: Turns[Piece], clock: Clock) -> None:
    add(turns, "stranger", 256)
    add(turns, "victim", 1, request="short")
    turns.expect(turns.take(32))
    clock.now += 0.6
    batch = turns.take(32)
    turns.expect(batch)
    assert callers(batch) == callers(turns.take(32)) == {"stranger": 32}
