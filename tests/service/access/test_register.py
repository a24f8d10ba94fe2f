"""Keys in Redis: made once, changed by one at a time, never readable again."""

from __future__ import annotations

import asyncio
import time

import pytest

from service.access.register import KEYS, RedisRegister
from service.errors import InvalidInput, KeyTaken, LedgerUnavailable, NotFound
from service.ledger.connection import Connection


@pytest.fixture
def register(connection: Connection) -> RedisRegister:
    return RedisRegister(connection)


async def test_a_key_that_was_made_is_found_and_opens(register: RedisRegister) -> None:
    made, secret = await register.issue("anna", ("ask", "edit"), None, "admin")
    found = await register.get("anna")
    assert found == made
    assert made.opened_by(secret, time.time())
    assert await register.get("ben") is None


async def test_nothing_in_redis_opens_anything(register: RedisRegister, connection: Connection) -> None:
    _, secret = await register.issue("anna", ("ask",), None, "admin")
    kept: dict[bytes, bytes] = await connection.commands.hgetall(KEYS)
    assert secret.encode() not in b"".join([*kept, *kept.values()])
    assert secret.rpartition("_")[2].encode() not in b"".join(kept.values())


async def test_a_name_is_given_once_and_not_again_after_it_was_revoked(register: RedisRegister) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    with pytest.raises(KeyTaken, match="anna"):
        await register.issue("anna", ("admin",), None, "mallory")
    await register.revoke("anna")
    with pytest.raises(KeyTaken, match="another name"):
        await register.issue("anna", ("ask",), None, "admin")


async def test_of_many_who_make_a_key_of_one_name_one_succeeds(register: RedisRegister) -> None:
    tries = (register.issue("anna", ("ask",), None, str(number)) for number in range(10))
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, KeyTaken) for one in done) == 9


async def test_rotations_at_the_same_time_lose_no_secret(register: RedisRegister) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    done = await asyncio.gather(*(register.rotate("anna", 60.0) for _ in range(3)))
    found = await register.get("anna")
    assert found is not None
    assert all(found.opened_by(secret, time.time()) for _, secret in done)


async def test_a_revoked_key_opens_nothing_and_cannot_be_rotated_back(register: RedisRegister) -> None:
    _, secret = await register.issue("anna", ("ask",), None, "admin")
    assert not (await register.revoke("anna")).opened_by(secret, time.time())
    for again in (register.revoke("anna"), register.rotate("anna", 0.0), register.rotate("ben", 0.0)):
        with pytest.raises(NotFound, match="errata keys list"):
            await again


async def test_nobody_passes_for_the_services_own(register: RedisRegister) -> None:
    for name in ("admin", "nobody"):
        with pytest.raises(KeyTaken, match="another name"):
            await register.issue(name, ("ask",), None, "admin")
        assert await register.get(name) is None


async def test_a_key_that_has_ended_is_rotated_into_one_that_ends_later_or_not_at_all(
    register: RedisRegister,
) -> None:
    await register.issue("anna", ("ask",), time.time() - 1.0, "admin")
    with pytest.raises(InvalidInput, match="expires_in_s"):
        await register.rotate("anna", 0.0)
    key, secret = await register.rotate("anna", 0.0, 60.0)
    assert key.opened_by(secret, time.time())
    assert not key.opened_by(secret, time.time() + 61.0)


async def test_a_change_whose_reply_was_lost_may_be_sent_again(register: RedisRegister) -> None:
    made, _ = await register.issue("anna", ("ask",), None, "admin")
    assert await register._swapped("anna", b"", made)
    assert not await register._swapped("anna", b"", made.model_copy(update={"created_by": "ben"}))


async def test_all_are_listed_by_name(register: RedisRegister) -> None:
    for name in ("carla", "anna", "ben"):
        await register.issue(name, ("ask",), None, "admin")
    await register.revoke("ben")
    assert [key.name for key in await register.all()] == ["anna", "ben", "carla"]


async def test_without_redis_it_says_so(nowhere: Connection) -> None:
    with pytest.raises(LedgerUnavailable, match="look a key up"):
        await RedisRegister(nowhere).get("anna")
