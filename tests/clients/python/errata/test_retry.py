"""Which failures are retried after a wait, and how long the wait is."""

from __future__ import annotations

import pytest
from errata import errors, wire
from errata.transport import Retry


def refusal(kind: type[errors.Refused], retry_after_s: float | None = None) -> errors.Refused:
    return kind(wire.Problem(title="t", status=503, code="x", detail="d"), retry_after_s)


PASSING = [
    errors.Unreachable("cut off"),
    refusal(errors.TooMany),
    refusal(errors.VersionAhead),
    refusal(errors.NotReady),
    refusal(errors.LedgerUnavailable),
]
LASTING = [
    errors.TimedOut("too late"),
    errors.NotErrata("who?"),
    errors.BadAddress("where?"),
    refusal(errors.Malformed),
    refusal(errors.Unauthorized),
    refusal(errors.NotFound),
    refusal(errors.StaleVersion),
    refusal(errors.ServerError),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_trouble_that_passes_is_waited_out_with_growing_pauses(error: errors.ErrataError) -> None:
    retry = Retry(times=3, first_pause_s=1.0, longest_pause_s=100.0)
    for attempt, longest_s in ((0, 1.0), (1, 2.0), (2, 4.0)):
        pause_s = retry.pause_s(attempt, error)
        assert pause_s is not None
        assert longest_s / 2 <= pause_s <= longest_s
    assert retry.pause_s(3, error) is None


@pytest.mark.parametrize("error", LASTING, ids=lambda error: type(error).__name__)
def test_trouble_that_stays_is_reported_at_once(error: errors.ErrataError) -> None:
    assert Retry().pause_s(0, error) is None


def test_a_service_that_says_when_is_obeyed() -> None:
    assert Retry(first_pause_s=0.1).pause_s(0, refusal(errors.NotReady, 2.0)) == 2.0


def test_a_service_that_asks_for_more_patience_than_there_is_is_not_waited_for() -> None:
    assert Retry(longest_pause_s=5.0).pause_s(0, refusal(errors.TooMany, 60.0)) is None
