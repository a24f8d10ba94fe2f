"""The seconds that a replica is behind are those of the oldest commit that is not applied."""

from __future__ import annotations

import pytest

from service.replicas.follower import Backlog


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_replica_at_the_newest_version_is_not_behind(clock: Clock) -> None:
    backlog = Backlog(clock)
    assert [backlog.measure(version, version) for version in (0, 7)] == [0, 0]


def test_a_replica_that_is_stuck_falls_behind_by_the_age_of_the_first_commit(clock: Clock) -> None:
    backlog = Backlog(clock)
    for seconds in range(10):
        clock.now_s = 100.0 + seconds
        assert backlog.measure(3, 4 + seconds) == seconds


def test_a_replica_that_applies_each_commit_in_time_is_never_far_behind_however_many_come(
    clock: Clock,
) -> None:
    backlog = Backlog(clock)
    for seconds in range(100):
        clock.now_s = 100.0 + seconds
        assert backlog.measure(seconds, seconds + 2) <= 2


def test_a_replica_that_caught_up_begins_anew(clock: Clock) -> None:
    backlog = Backlog(clock)
    backlog.measure(0, 1)
    clock.now_s += 60
    assert (backlog.measure(0, 1), backlog.measure(1, 1), backlog.measure(1, 2)) == (60, 0, 0)
