"""The clock of the ledger's server is put back: whoever died before it does not live on until it is that late again."""

from __future__ import annotations

import redis

from service.ledger import keys
from service.ledger.store import RedisLedger

HOUR_S = 3600
BEAT = {
    "model": "toy",
    "version": 1,
    "checksums": {},
    "lag": 0,
    "healthy": True,
    "pid": 1,
    "applied_ms": None,
}


async def test_a_heartbeat_of_an_hour_ahead_is_nobodys(ledger: RedisLedger, raw: redis.Redis) -> None:
    await ledger.heartbeat("toy-dead", BEAT)
    _put_back_the_clock(raw, "toy-dead")
    await ledger.heartbeat("toy-alive", BEAT | {"version": 2})
    seen = {name: beat["seen_s_ago"] for name, beat in (await ledger.replicas()).items()}
    assert seen["toy-alive"] < 1
    assert seen.get("toy-dead", HOUR_S) > HOUR_S / 2
    found, all_applied = await wait_for_replicas(ledger, 2, Patience(0.1, {"toy": 1}))
    assert ([one.replica for one in found], all_applied) == (["toy-alive"], True)


def _put_back_the_clock(raw: redis.Redis, replica: str) -> None:
    """As the heartbeat looks from then on."""
    seen, _, payload = bytes(raw.hget(keys.REPLICAS, replica) or b"").partition(b" ")
    raw.hset(keys.REPLICAS, replica, b"%f %s" % (float(seen) + HOUR_S, payload))
