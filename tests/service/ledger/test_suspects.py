"""A request at which another process died is refused; every other suspect is worked for, and leaves no note."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import redis

from service.errors import Crashed, LedgerUnavailable
from service.ledger import keys
from service.ledger.beside import Suspects
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger

PART = "a part"


async def run(suspects: Suspects, id: str, work: Callable[[], str]) -> str:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, suspects.run, loop, id, work)


def suspects(ledger: RedisLedger, on_refusal: Callable[[], object] = lambda: None) -> Suspects:
    return Suspects(ledger.connection, PART, "nothing was changed", on_refusal)


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
