"""The cost of the audit is bounded for every caller, and entries of merged calls have the right figures."""

import asyncio
import time
from typing import Any

import pytest
import redis

from service.access.audit.audit import MAX_MERGED, Audit, Filter
from service.access.audit.calls import CHANGES, READS, REFUSALS, Call
from service.access.audit.merger import (
    FURTHER_CALLERS,
    FURTHER_KINDS,
    KINDS_PER_SOURCE,
    MAX_KINDS,
    MAX_LISTED,
    WINDOW_S,
)
from service.errors import LedgerUnavailable
from service.ledger.connection import Connection
from tests.service.access.conftest import Clock

MEGABYTE = 1_000_000
DAY_S = 86_400
STREAM_NODE = 100  # entries that Redis drops together
NO_FILTER = Filter()


@pytest.fixture
def audit(connection: Connection, clock: Clock) -> Audit:
    return Audit(connection, clock)


def refusal(address: str = "192.0.2.1", path: str = "/admin/versions", **fields: Any) -> Call:
    defaults: dict[str, Any] = {"name": "", "method": "GET", "status": 401, "code": "unauthorized"}
    return Call(**{**defaults, "address": address, "path": path, **fields})


def change(name: str = "anna", **fields: Any) -> Call:
    call = refusal(name=name, by="key", method="POST", path="/admin/edits", status=201, code=None)
    return call.model_copy(update=fields)


async def read_all(audit: Audit) -> list[Call]:
    return [entry.call for entry in (await audit.newest(1_000, None, NO_FILTER))[0]]


async def test_a_day_of_refusals_at_the_highest_rate_costs_less_than_five_megabytes(
    audit: Audit, clock: Clock, raw: redis.Redis
) -> None:
    """As many kinds as there is room for, each as long as it can be, of strangers and of a key without the scope.

    After some hours every entry pushes an old one out.
    """
    await audit.record(change())
    for window in range(int(DAY_S / WINDOW_S)):
        for number in range(MAX_KINDS + 10):
            path = f"/admin/{window}/{number}/" + "\x01" * 500
            await audit.record(refusal(f"2001:db8:0:{number % 50:x}::1", path, request="r" * 128))
            await audit.record(refusal(path=path, name="low", by="key", method="DELETE", status=403))
        await audit.newest(1, None, NO_FILTER)
        clock.now += WINDOW_S
    await audit.aclose()
    assert MAX_MERGED <= raw.xlen(REFUSALS) < MAX_MERGED + STREAM_NODE
    assert raw.memory_usage(REFUSALS, samples=0) < 5 * MEGABYTE
    assert [call.name for call in await read_changes(audit)] == ["anna"], "and what was done is still there"


async def read_changes(audit: Audit) -> list[Call]:
    calls: list[Call] = []
    before: str | None = None
    while True:
        entries, before = await audit.newest(1_000, before, Filter(refused=False))
        calls += [entry.call for entry in entries]
        if before is None:
            return calls


async def test_an_hour_of_one_refusal_is_an_entry_a_window_that_counts_them_all(
    audit: Audit, clock: Clock
) -> None:
    for _ in range(3_600):
        await audit.record(refusal())
        clock.now += 1.0
        if clock.now % 60 == 0:
            await audit.newest(1, None, NO_FILTER)
    await audit.aclose()
    calls = await read_all(audit)
    assert sum(call.count for call in calls) == 3_600
    assert len(calls) <= 3_600 / WINDOW_S + 2


async def test_a_noisy_address_keeps_nobody_else_out(audit: Audit) -> None:
    for number in range(1_000):
        await audit.record(refusal("192.0.2.1", f"/admin/{number}"))
    await audit.record(refusal("192.0.2.2"))
    calls = await read_all(audit)
    assert [call.path for call in calls if call.address == "192.0.2.2"] == ["/admin/versions"]
    noisy = [call for call in calls if call.address == "192.0.2.1"]
    assert len(noisy) == KINDS_PER_SOURCE + 1
    assert (noisy[0].summary, sum(call.count for call in noisy)) == (FURTHER_KINDS, 1_000)


async def test_beyond_all_room_calls_are_still_counted(audit: Audit) -> None:
    for number in range(1_000):
        await audit.record(refusal(f"2001:db8:0:{number:x}::1"))
    calls = await read_all(audit)
    assert sum(call.count for call in calls) == 1_000
    assert (calls[0].summary, calls[0].address) == (FURTHER_CALLERS, "")


async def test_a_reader_has_a_name_beside_a_thousand_refused_strangers(audit: Audit) -> None:
    """The strangers come from a thousand networks, each with more kinds of calls than it may have."""
    for number in range(6_000):
        await audit.record(refusal(f"2001:db8:0:{number % 1_000:x}::1", f"/admin/{number}"))
    read = refusal("10.0.0.9", "/admin/audit", name="victim-reader", by="key", status=200, code=None)
    await audit.record(read)
    await audit.record(read.model_copy(update={"status": 403, "code": "forbidden"}))
    calls = [call for call in await read_all(audit) if call.name]
    assert {(call.name, call.address, call.path, call.status) for call in calls} == {
        ("victim-reader", "10.0.0.9", "/admin/audit", status) for status in (200, 403)
    }


async def test_a_reader_of_many_pages_is_noted_with_their_paths_and_never_hides_who_reads_keys(
    audit: Audit,
) -> None:
    def read(path: str, address: str = "10.0.0.9") -> Call:
        return refusal(address, path, name="anna", by="key", status=200, code=None)

    for number in range(60):
        await audit.record(read(f"/admin/versions/{number}"))
    for path in ("/admin/keys", "/admin/audit", "/admin/keys"):
        await audit.record(read(path, "2001:db8::7"))
    calls = await read_all(audit)
    assert {call.name for call in calls} == {"anna"}
    sensitive = {call.path: (call.address, call.count) for call in calls if call.address == "2001:db8::7"}
    assert sensitive == {"/admin/keys": ("2001:db8::7", 2), "/admin/audit": ("2001:db8::7", 1)}
    paths = [call.path or call.summary for call in calls]
    numbers = [number for number in range(60) if any(f"/admin/versions/{number}" in path for path in paths)]
    assert numbers == list(range(KINDS_PER_SOURCE + MAX_LISTED))
    assert sum(call.count for call in calls) == 63
    assert len(calls) == KINDS_PER_SOURCE + 3


async def test_an_entry_has_the_times_of_its_calls_and_is_shown_before_it_is_written(
    connection: Connection, clock: Clock
) -> None:
    """Twelve refusals a second apart; the listing shows them at once, and filters of time mean the calls."""
    start, wall_clock = float(round(time.time())), Clock()
    wall_clock.now = start
    audit = Audit(connection, clock, wall_clock)
    for number in range(12):
        await audit.record(refusal())
        if number == 0:
            await audit.newest(1, None, NO_FILTER)  # the first is written
        wall_clock.now += 1.0
    pending, first = (await audit.newest(9, None, NO_FILTER))[0]
    assert (first.pending, first.time, first.call.count, first.call.first_at) == (False, start, 1, None)
    assert (pending.pending, pending.time) == (True, start + 11)
    assert (pending.call.count, pending.call.first_at) == (11, start + 1)
    clock.now += WINDOW_S
    final, _ = (await audit.newest(9, None, NO_FILTER))[0]
    assert (final.pending, final.time, final.call) == (False, start + 11, pending.call)
    for filter, expected in (
        (Filter(until=start + 5), [0]),
        (Filter(until=start + 20), [11, 0]),
        (Filter(since=start - 1), [11, 0]),
        (Filter(since=start + 12), []),
    ):
        entries = (await audit.newest(9, None, filter))[0]
        assert [entry.time - start for entry in entries] == expected, filter


async def test_pages_join_where_an_entry_is_still_counting(audit: Audit) -> None:
    for number in range(3):
        for _ in range(3):
            await audit.record(refusal(path=f"/admin/{number}"))
        await audit.newest(1, None, NO_FILTER)
        await audit.record(refusal(path=f"/admin/{number}"))
    before, calls = None, list[Call]()
    while True:
        entries, before = await audit.newest(1, before, NO_FILTER)
        calls += [entry.call for entry in entries]
        if before is None:
            break
    assert sorted((call.path, call.count) for call in calls) == [
        (f"/admin/{number}", count) for number in range(3) for count in (1, 3)
    ]


async def test_each_summary_counts_its_own_calls(audit: Audit) -> None:
    """Then the entry of several kinds lists them."""
    for number in range(KINDS_PER_SOURCE + 2):
        for _ in range(number + 1):
            await audit.record(change(status=409, code="stale_version", summary=f"edit {number}"))
    calls = await read_all(audit)
    kinds = [(f"edit {number}", number + 1) for number in range(KINDS_PER_SOURCE)]
    further = f"{FURTHER_KINDS}: /admin/edits edit 5 (6), /admin/edits edit 6 (7)"
    assert sorted((call.summary, call.count) for call in calls) == [(further, 13), *kinds]


async def test_one_network_of_ipv6_is_one_stranger(audit: Audit) -> None:
    for number in range(500):
        await audit.record(refusal(f"2001:db8::{number:x}", f"/admin/{number}"))
    calls = await read_all(audit)
    assert len(calls) == KINDS_PER_SOURCE + 1
    assert all(call.address.startswith("2001:db8::") for call in calls)


async def test_what_changed_nothing_stands_apart_from_what_may_have(audit: Audit, raw: redis.Redis) -> None:
    calls = [
        change(),
        change(name="ben", status=499),
        change(name="ben", status=503),
        refusal(name="ben", by="key", method="GET", status=200, path="/admin/export"),
        refusal(name="ben", by="key", method="GET", status=200),
        change(name="ben", status=409),
        refusal(method="POST", status=201),
    ]
    for call in calls:
        await audit.record(call)
    await audit.aclose()
    assert [raw.xlen(stream) for stream in (CHANGES, READS, REFUSALS)] == [4, 1, 2]


async def test_calls_wait_for_redis_and_none_is_lost(
    audit: Audit, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(call: Call) -> None:
        raise LedgerUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(audit._merger, "_append", fail)
        for _ in range(5):
            await audit.record(refusal())
            await asyncio.sleep(0)
        with pytest.raises(LedgerUnavailable):
            await audit.newest(1, None, NO_FILTER)
    assert [call.count for call in await read_all(audit)] == [5]
    monkeypatch.setattr(audit._merger, "_append", fail)
    await audit.record(refusal())
    assert await audit.aclose() == 1, "and what is lost at the end is told"


async def test_no_two_streams_have_the_same_id(audit: Audit) -> None:
    for number in range(200):
        await audit.append(change())
        await audit.append(refusal(path=f"/admin/{number}"))
        await audit.append(refusal(name="ben", by="key", status=200, code=None))
    entries = (await audit.newest(1_000, None, NO_FILTER))[0]
    places = [entry.place for entry in entries]
    assert len(set(places)) == 600
    assert places == sorted(places, reverse=True)


async def test_entries_of_before_are_read_as_before(audit: Audit, raw: redis.Redis) -> None:
    raw.xadd(
        CHANGES,
        {"entry": '{"name":"a","address":"","method":"GET","path":"/admin/x","what":"w","status":200}'},
    )
    (call,) = await read_all(audit)
    assert (call.summary, call.count) == ("w", 1)
