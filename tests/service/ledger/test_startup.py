"""A start on a ledger, and requests that are suspected of a crash."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import redis

from service.errors import Crashed, LedgerUnavailable
from service.ledger import keys
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.poison_requests import PoisonRequests
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import fill
from tests.service.parts import PATIENCE_S


@asynccontextmanager
async def stranger(greeting: bytes | None, at_once: bool = False) -> AsyncIterator[str]:
    """A TCP server that answers everything with `greeting`; None says nothing, b"" hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while at_once or await reader.read(4096):
            if greeting is not None:
                writer.write(greeting)
                await writer.drain()
                if at_once or not greeting:
                    break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def refusal(url: str, limit_s: float = PATIENCE_S) -> str:
    ledger = RedisLedger.connect(url, limit_s)
    try:
        with pytest.raises(LedgerUnavailable) as error:
            await ledger.check()
    finally:
        await ledger.aclose()
    assert url in str(error.value)
    return str(error.value)


async def test_the_embedded_server_passes_without_a_warning(ledger: RedisLedger, raw: redis.Redis) -> None:
    await fill(ledger, 3)
    server = await ledger.check()
    assert (server.name, server.warnings) == ("valkey", ())
    assert server.version.startswith("9.")
    assert not [key for key in raw.keys("*") if b":check:" in key]


@pytest.mark.parametrize(
    ("greeting", "at_once"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH_9.9\r\n", True),
        (b"\x15\x03\x03\x00\x02\x02\x46", False),
        (b"220 mail.example ESMTP\r\n", True),
    ],
    ids=["web", "ssh", "tls", "mail"],
)
async def test_another_kind_of_server_is_told_apart(greeting: bytes, at_once: bool) -> None:
    async with stranger(greeting, at_once) as url:
        assert "answered, but is not Redis or Valkey" in await refusal(url)


async def test_a_server_that_agrees_to_everything_is_told_apart() -> None:
    async with stranger(b"+OK\r\n") as url:
        assert "answered, but is not Redis or Valkey" in await refusal(url)


async def test_a_server_that_says_nothing_is_waited_for_and_then_named() -> None:
    async with stranger(None) as url:
        assert "no reply within" in await refusal(url, 0.3)


async def test_a_server_that_hangs_up_is_named() -> None:
    async with stranger(b"") as url:
        assert "failed to answer" in await refusal(url)


async def test_a_port_where_nobody_listens_is_named() -> None:
    async with stranger(b"") as url:
        pass
    assert "Connect call failed" in await refusal(url)


async def test_a_redis_too_old_to_greet_is_named() -> None:
    async with stranger(b"-ERR unknown command 'HELLO'\r\n") as url:
        assert "unknown command 'HELLO'" in await refusal(url)


async def test_a_missing_password_is_asked_for(own_valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("requirepass", "s3cret")
    assert "password" in await refusal(own_valkey.url)
    with_password = f"unix://:s3cret@{own_valkey.url.removeprefix('unix://')}"
    ledger = RedisLedger.connect(with_password)
    assert (await ledger.check()).warnings == ()
    await ledger.aclose()


async def test_a_server_that_may_only_be_read_is_refused(own_valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.replicaof("127.0.0.1", "9")
    assert "read only replica" in await refusal(own_valkey.url)


@pytest.mark.parametrize(
    ("setting", "value", "warning"),
    [
        ("appendonly", "no", "appendonly is not yes"),
        ("appendfsync", "everysec", "appendfsync is not always"),
        ("maxmemory-policy", "allkeys-lru", "may throw rows away"),
    ],
)
async def test_a_server_that_may_lose_edits_is_taken_with_a_warning(
    own_valkey: EmbeddedValkey, setting: str, value: str, warning: str
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("maxmemory", "1gb")
        client.config_set(setting, value)
    ledger = RedisLedger.connect(own_valkey.url)
    [actual] = (await ledger.check()).warnings
    assert warning in actual
    await ledger.aclose()


async def test_a_server_that_hides_its_settings_is_taken_with_a_warning(own_valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.acl_setuser(
            "app", enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all", "-config", "-info"]
        )
    ledger = RedisLedger.connect(f"unix://app:pw@{own_valkey.url.removeprefix('unix://')}")
    server = await ledger.check()
    assert "does not show its settings" in server.warnings[0]
    await ledger.aclose()


async def test_a_server_that_may_evict_and_hides_its_settings_is_taken_with_a_warning(
    own_valkey: EmbeddedValkey,
) -> None:
    """As hosted servers do, which rename CONFIG away."""
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("maxmemory", "1gb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.acl_setuser("app", enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all", "-config"])
    ledger = RedisLedger.connect(f"unix://app:pw@{own_valkey.url.removeprefix('unix://')}")
    assert any("may throw rows away" in warning for warning in (await ledger.check()).warnings)
    await ledger.aclose()


PART = "a part"


async def run(suspects: PoisonRequests, id: str, work: Callable[[], str]) -> str:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, suspects.run, loop, id, work)


def suspects(ledger: RedisLedger, on_refusal: Callable[[], object] = lambda: None) -> PoisonRequests:
    return PoisonRequests(ledger.connection, PART, "nothing was changed", on_refusal)


async def test_a_request_at_which_another_process_died_is_refused_once(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    refusals: list[int] = []
    raw.hset(keys.SUSPECTS, "a1", "a process that died")
    with pytest.raises(Crashed, match=f"two processes of '{PART}'.*nothing was changed.* id a1 ") as refusal:
        await run(suspects(ledger, lambda: refusals.append(1)), "a1", lambda: pytest.fail("it is worked for"))
    assert refusal.value.extras == {"crash_id": "a1"}
    assert refusals == [1]
    assert not raw.exists(keys.SUSPECTS)


async def test_a_suspect_is_noted_while_it_is_worked_for(ledger: RedisLedger, raw: redis.Redis) -> None:
    process = suspects(ledger)
    for _ in range(2):  # two pieces of work
        assert await run(process, "a1", lambda: str(raw.hexists(keys.SUSPECTS, "a1"))) == "True"
        assert not raw.exists(keys.SUSPECTS)
    with pytest.raises(ZeroDivisionError):
        await run(process, "a1", lambda: str(1 // 0))
    assert await run(suspects(ledger), "a1", lambda: "another process") == "another process"


async def test_a_note_of_its_own_that_could_not_be_deleted_does_no_harm(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    process = suspects(ledger)

    def work() -> str:
        [note] = raw.hvals(keys.SUSPECTS)
        raw.hset(keys.SUSPECTS, "a2", note)
        return "done"

    assert await run(process, "a1", work) == "done"
    assert await run(process, "a2", lambda: "done as well") == "done as well"


async def test_a_request_that_is_no_suspect_needs_no_redis(own_valkey: EmbeddedValkey) -> None:
    ledger = RedisLedger.connect(own_valkey.url, 0.2)
    own_valkey.stop()
    assert await run(suspects(ledger), "", lambda: "done") == "done"
    with pytest.raises(LedgerUnavailable):
        await run(suspects(ledger), "a1", lambda: pytest.fail("it is worked for without a note"))
    await ledger.aclose()
