"""Failures on the way: which are repeated, and that no exception of httpx gets through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from errata import AsyncErrata, Errata, Retry, errors, wire
from errata.request import Call

AT_ONCE = Retry(first_pause_s=0.001, longest_pause_s=0.01)
PERU = "What is the capital of Peru?"


def failing(kind: type[httpx.HTTPError]) -> Callable[[httpx.Request], httpx.Response]:
    def fail(request: httpx.Request) -> httpx.Response:
        if kind is httpx.HTTPStatusError:
            raise httpx.HTTPStatusError("boom", request=request, response=httpx.Response(500))
        raise kind("boom")

    return fail


def all_subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_subclasses(below)


def over(handler: Callable[[httpx.Request], httpx.Response], **how: Any) -> Errata:
    return Errata("http://errata.test", transport=httpx.MockTransport(handler), **{"retry": AT_ONCE, **how})


class LosesReplies(httpx.AsyncBaseTransport):
    """A network that delivers a request and then loses the reply, `times` times."""

    def __init__(self, app: Any, times: int) -> None:
        self.inner = httpx.ASGITransport(app=app)
        self.times = times

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self.inner.handle_async_request(request)
        if self.times > 0:
            self.times -= 1
            raise httpx.ReadError("the reply is lost")
        return response


@pytest.mark.parametrize(
    "kind", sorted(set(all_subclasses(httpx.HTTPError)), key=str), ids=lambda kind: kind.__name__
)
def test_no_exception_of_httpx_leaks(kind: type[httpx.HTTPError]) -> None:
    with over(failing(kind)) as errata, pytest.raises(errors.Unreachable) as error:
        errata.ask("q")
    assert isinstance(error.value, errors.TimedOut) == issubclass(kind, httpx.TimeoutException)
    assert "http://errata.test" in str(error.value)
    assert type(error.value.__cause__) is kind


def test_patience_has_an_end(errata: Errata, tiny: Any, trouble: Any) -> None:
    trouble(503, "not_ready", times=99)
    with pytest.raises(errors.NotReady):
        errata.ask(PERU)
    assert len(tiny.requests) == 3


def test_a_version_that_may_never_be_made_is_not_waited_for_again(
    errata: Errata, tiny: Any, trouble: Any
) -> None:
    trouble(503, "version_ahead", times=9, retry_after=1)
    with pytest.raises(errors.VersionAhead):
        errata.ask(PERU, min_version=99)
    assert len(tiny.requests) == 1


async def test_an_edit_whose_receipt_is_lost_is_made_once(app: Any, tiny: Any) -> None:
    transport = LosesReplies(app, times=2)
    client = AsyncErrata("http://tiny", key="right-key", retry=AT_ONCE, transport=transport)
    async with client:
        receipt = await client.edit(PERU, "Cusco")
    assert (receipt.version, tiny.head) == (1, 1)
    assert len(tiny.requests) == 3
    assert len({request.headers["idempotency-key"] for request, _ in tiny.requests}) == 1


async def test_a_write_that_cannot_be_repeated_is_sent_once(app: Any, tiny: Any) -> None:
    call = Call("POST", "/admin/rollbacks", wire.EditReceipt, wire.RollbackRequest(to=0), reads=False)
    async with AsyncErrata("http://tiny", key="right-key", transport=LosesReplies(app, 1)) as client:
        with pytest.raises(errors.Unreachable):
            await client.send(call)
    assert len(tiny.requests) == 1


def test_a_call_that_timed_out_is_not_sent_again_and_says_how_to_be_sure() -> None:
    requests: list[httpx.Request] = []

    def late(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        raise httpx.ReadTimeout("late")

    with over(late, edit_timeout_s=7) as errata, pytest.raises(errors.TimedOut) as error:
        errata.edit("q", "a", idempotency_key="mine")
    assert len(requests) == 1
    assert "within 7 s" in str(error.value)
    assert "idempotency key mine" in str(error.value)
