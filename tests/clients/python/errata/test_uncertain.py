"""A write that failed on the way: the error says whether it may have been made, with the key to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from errata import Errata, Retry, errors

Handler = Callable[[httpx.Request], httpx.Response]
RECEIPT_OF_ANOTHER_KIND = httpx.Response(201, json={"strange": True})


def raising(error: Exception) -> Handler:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    return fail


def problem(status: int, code: str, **extras: Any) -> httpx.Response:
    body = {"title": code, "status": status, "code": code, "detail": code, **extras}
    return httpx.Response(status, json=body)


def failure(handler: Handler, do: Callable[[Errata], Any], times: int = 0) -> errors.ErrataError:
    retry = Retry(times=times, first_pause_s=0.001)
    transport = httpx.MockTransport(handler)
    with (
        Errata("http://errata.test", transport=transport, retry=retry) as errata,
        pytest.raises(errors.ErrataError) as error,
    ):
        do(errata)
    return error.value


def edit(errata: Errata) -> Any:
    return errata.edit("q", "a", idempotency_key="mine")


OPEN: dict[str, Handler] = {
    "cut while reading": raising(httpx.ReadError("cut")),
    "cut by the other side": raising(httpx.RemoteProtocolError("Server disconnected")),
    "late": raising(httpx.ReadTimeout("late")),
    "an unreadable receipt": lambda _: RECEIPT_OF_ANOTHER_KIND,
    "a proxy that waited in vain": lambda _: httpx.Response(504, text="late"),
    "a proxy that was cut": lambda _: httpx.Response(502, text="cut"),
    "the ledger went away while committing": lambda _: problem(503, "ledger_unavailable", in_doubt=True),
    "the editor went away": lambda _: problem(503, "not_ready"),
    "an error of the service's own": lambda _: problem(500, "internal"),
}
CERTAIN: dict[str, Handler] = {
    "nobody listens": raising(httpx.ConnectError("refused")),
    "no connection in time": raising(httpx.ConnectTimeout("late")),
    "refused": lambda _: problem(409, "stale_version"),
    "too many": lambda _: problem(429, "too_many"),
    "the ledger was away": lambda _: problem(503, "ledger_unavailable"),
    "a proxy that could not connect": raising(httpx.ProxyError("403 Forbidden")),
    "sent elsewhere": lambda _: httpx.Response(301, headers={"location": "https://errata.test"}),
}
AT_THE_DOOR: dict[str, Handler] = {
    "too many": CERTAIN["too many"],
    "no key any more": lambda _: problem(401, "unauthorized"),
    "the ledger is away": CERTAIN["the ledger was away"],
    "nobody listens": CERTAIN["nobody listens"],
    "sent elsewhere": CERTAIN["sent elsewhere"],
}


@pytest.mark.parametrize("handler", OPEN.values(), ids=OPEN.keys())
def test_a_write_that_may_have_been_made_says_so_and_names_its_key(handler: Handler) -> None:
    error = failure(handler, edit)
    assert error.idempotency_key == "mine"
    assert "the change may have been made: repeat it with idempotency key mine" in str(error)


@pytest.mark.parametrize("handler", OPEN.values(), ids=OPEN.keys())
@pytest.mark.parametrize(
    "do",
    [lambda errata: errata.ask("q"), lambda errata: errata.edit("q", "a", dry_run=True)],
    ids=["a question", "a dry run"],
)
def test_what_changes_nothing_leaves_no_doubt(handler: Handler, do: Callable[[Errata], Any]) -> None:
    error = failure(handler, do)
    assert error.idempotency_key is None
    assert "may have been made" not in str(error)


@pytest.mark.parametrize("handler", CERTAIN.values(), ids=CERTAIN.keys())
def test_a_write_that_was_certainly_not_made_leaves_no_doubt(handler: Handler) -> None:
    assert failure(handler, edit).idempotency_key is None


def one_after_the_other(*answers: Handler) -> Handler:
    remaining: Iterator[Handler] = iter(answers)
    return lambda request: next(remaining)(request)


@pytest.mark.parametrize("door", AT_THE_DOOR.values(), ids=AT_THE_DOOR.keys())
def test_a_doubt_stays_when_the_repetition_is_turned_away(door: Handler) -> None:
    error = failure(one_after_the_other(OPEN["cut while reading"], door), edit, times=1)
    assert error.idempotency_key == "mine"


def test_a_client_that_is_closed_between_two_attempts_leaves_the_doubt() -> None:
    errata: Errata

    def cut(_: httpx.Request) -> httpx.Response:
        errata.close()
        raise httpx.ReadError("cut")

    errata = Errata(
        "http://errata.test", transport=httpx.MockTransport(cut), retry=Retry(first_pause_s=0.001)
    )
    with pytest.raises(errors.Closed) as error:
        edit(errata)
    assert error.value.idempotency_key == "mine"
