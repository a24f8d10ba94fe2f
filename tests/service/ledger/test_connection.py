"""No foreign error leaves the ledger and no call outlives its limit, whatever the server does."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import redis
import uvloop

from service.errors import LedgerUnavailable
from service.ledger import connection, keys
from service.ledger.connection import POOL_SIZE, Connection, redact
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import BASES, Writer, frozen, kill, pid_of
from tests.service.parts import stopwatch

CALLS: dict[str, Callable[[RedisLedger], Awaitable[object]]] = {
    "check": lambda ledger: ledger.check(),
    "head": lambda ledger: ledger.head(),
    "end": lambda ledger: ledger.end(),
    "append": lambda ledger: ledger.append(*Writer().edit()),
    "append without rows": lambda ledger: ledger.append(Writer().edit()[0]),
    "find_version": lambda ledger: ledger.find_version("anna", "k"),
    "read": lambda ledger: ledger.read(0),
    "get": lambda ledger: ledger.get(1),
    "blocks": lambda ledger: ledger.blocks([("k", 0, "sha256:00")]),
    "put_manifest": lambda ledger: ledger.put_manifest(0, BASES),
    "nearest_manifest": lambda ledger: ledger.nearest_manifest(9),
    "begin_restore": lambda ledger: ledger.begin_restore(1, 0),
    "check_restored": lambda ledger: ledger.check_restored(0),
    "put_back": lambda ledger: ledger.put_back(Writer().edit()[0]),
    "wait": lambda ledger: ledger.wait(0, 0.05),
    "heartbeat": lambda ledger: ledger.heartbeat("r", {}),
    "replicas": lambda ledger: ledger.replicas(),
    "forget": lambda ledger: ledger.forget("r"),
}
LIMIT_S = 0.5
SLACK_S = 2.0  # for a busy machine; one call with redis-py's own retries takes forty seconds


@pytest.fixture
async def hasty(own_valkey: EmbeddedValkey) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(own_valkey.url, limit_s=LIMIT_S)
    yield ledger
    await ledger.aclose()


def test_every_call_of_the_ledger_is_among_those_that_are_tried() -> None:
    no_calls = {"connect", "aclose", "remember"}
    calls = {name for name in vars(RedisLedger) if not name.startswith("_")} - no_calls
    assert calls == {name.split()[0] for name in CALLS}


async def test_a_server_that_is_gone_is_said_so_by_every_call(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    await hasty.head()
    kill(pid_of(own_valkey))
    for name, call in CALLS.items():
        with pytest.raises(LedgerUnavailable, match="the ledger at unix://") as error:
            await call(hasty)
        assert error.value.__cause__ is not None, name


async def test_a_frozen_server_holds_no_call_longer_than_its_limit(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    async def call_in_time(name: str) -> None:
        async with stopwatch() as seconds:
            with pytest.raises(LedgerUnavailable, match=r"the ledger at unix://"):
                await CALLS[name](hasty)
            assert seconds() < LIMIT_S + SLACK_S, name

    await hasty.head()
    with frozen(pid_of(own_valkey)):
        await asyncio.gather(*map(call_in_time, CALLS))


async def test_five_hundred_callers_of_a_frozen_server_are_all_told_in_time(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    await hasty.head()
    with frozen(pid_of(own_valkey)):
        async with stopwatch() as seconds:
            results = await asyncio.gather(*(hasty.head() for _ in range(500)), return_exceptions=True)
            assert seconds() < LIMIT_S + SLACK_S < LIMIT_S * 500 / POOL_SIZE
    assert {type(item) for item in results} == {LedgerUnavailable}


async def test_replies_that_came_too_late_are_nobody_elses(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    await hasty.heartbeat("a", {"version": 1})
    with frozen(pid_of(own_valkey)):
        await asyncio.gather(*(hasty.replicas() for _ in range(20)), return_exceptions=True)
    for _ in range(20):
        assert await hasty.head() == 0
        assert (await hasty.replicas()).keys() == {"a"}


async def test_an_edit_whose_answer_was_lost_is_made_once_when_it_is_sent_again(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    commit, blocks = Writer().edit()
    await hasty.append(commit, blocks)
    second = Writer([commit], [{}, BASES]).edit()
    with frozen(pid_of(own_valkey)), pytest.raises(LedgerUnavailable):
        await hasty.append(second[0])
    assert await hasty.append(*second) == 2
    assert await hasty.head() == 2


async def test_a_server_that_comes_back_is_used_again_without_a_restart_of_ours(
    own_valkey: EmbeddedValkey, hasty: RedisLedger
) -> None:
    writer = Writer()
    await hasty.append(*writer.edit())
    kill(pid_of(own_valkey))
    with pytest.raises(LedgerUnavailable):
        await hasty.head()
    assert own_valkey.revive()
    assert await hasty.head() == 1
    assert await hasty.append(*writer.edit()) == 2
    assert await hasty.wait(1, 0.1)


async def test_what_the_server_refuses_keeps_the_servers_words(ledger: RedisLedger, raw: redis.Redis) -> None:
    raw.set(keys.LOG, "somebody else's")
    with pytest.raises(LedgerUnavailable, match="WRONGTYPE"):
        await ledger.read(0)
    with pytest.raises(LedgerUnavailable, match="WRONGTYPE"):
        await ledger.append(*Writer().edit())


async def test_replies_have_the_shapes_that_the_store_takes_apart(
    ledger: RedisLedger, valkey: EmbeddedValkey
) -> None:
    await ledger.append(*Writer().edit())
    connection = Connection(valkey.url, 1.0)
    [(name, fields)] = await connection.commands.xrange(keys.LOG)
    assert (name, set(fields)) == (b"1-0", {b"commit", b"digest"})
    assert await connection.tail.xread({keys.LOG: "0-0"}) == {keys.LOG.encode(): [(name, fields)]}
    assert await connection.tail.xread({keys.LOG: "1-0"}) == {}
    assert await connection.commands.hgetall(keys.REPLICAS) == {}
    assert [type(part) for part in await connection.commands.time()] == [int, int]
    await connection.aclose()


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost", "http://localhost:6379", "redis://host:port"),
        *("redis://a:1,b:2", "redis://a:1,b:port", "redis://a:1,redis://b:2"),
        "redis://a:secret@b:1,redis://a:secret@c:2",
        *("redis://[::1:6379", "redis://:secret[@localhost:6379", "redis://:secret]@localhost:6379"),
    ],
)
def test_an_address_that_is_none_is_refused_with_the_ones_that_are(url: str) -> None:
    with pytest.raises(LedgerUnavailable, match="redis://HOST:PORT/DB") as refusal:
        RedisLedger.connect(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://ann:secret@db.example:6380/2", "redis://db.example:6380/2"),
        ("rediss://:secret@db.example/0?password=secret", "rediss://db.example/0"),
        ("unix://:secret@/run/valkey.sock?db=1", "unix:///run/valkey.sock"),
        ("redis://localhost", "redis://localhost"),
        ("rediss://ann:sec,ret@a:1,b:2,c", "rediss://a:1,b:2,c"),
        ("redis://:secret[@localhost", "an address that cannot be read"),
    ],
)
def test_a_password_in_the_address_is_never_shown(url: str, expected: str) -> None:
    assert redact(url) == expected


def test_the_socket_file_is_the_address(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path / "valkey") as server:
        assert server.url == f"unix://{tmp_path}/valkey/valkey.sock"


async def _write_to_a_closed_connection(path: Path) -> None:
    connection = Connection(f"unix://{path}", 1)
    _, writer = await asyncio.open_unix_connection(path)
    writer.transport.abort()
    await asyncio.sleep(0.05)  # until it is closed
    with pytest.raises(LedgerUnavailable, match="failed to talk: it hung up"):
        async with connection.call("talk"):
            writer.writelines([b"PING\r\n"])
    await connection.aclose()


def test_who_has_hung_up_is_away(tmp_path: Path) -> None:
    """Ray Serve's replicas run on uvloop, which raises a RuntimeError where asyncio raises an OSError or nothing.

    redis-py comes to it when a server ends in the middle of its greeting.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_write_to_a_closed_connection(tmp_path / "s"))


async def test_an_error_of_our_own_is_not_taken_for_it() -> None:
    connection = Connection("redis://127.0.0.1:1", 1)
    with pytest.raises(RuntimeError, match="a mistake"):
        async with connection.call("talk"):
            raise RuntimeError("a mistake")
    await connection.aclose()


async def test_a_full_disk_of_the_embedded_server_is_named(
    own_valkey: EmbeddedValkey, hasty: RedisLedger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hasty.connection.check_room()
    monkeypatch.setattr(connection, "ROOM_BYTES", 1 << 62)  # more than any disk has
    Connection(f"unix://{tmp_path}/an-operators-own.sock").check_room()
    with pytest.raises(
        LedgerUnavailable, match=r"the store cannot write, as the disk of .* is full: make room"
    ):
        hasty.connection.check_room()
    kill(pid_of(own_valkey))
    with pytest.raises(LedgerUnavailable, match=r"failed to .*: make room and try again"):
        await hasty.head()
