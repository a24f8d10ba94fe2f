"""A key is looked up once a second at most, and opens on while Redis is away, if it was seen before."""

from __future__ import annotations

import pytest

from service.access.issued import IssuedKey
from service.access.remembered import MOST, Remembered
from service.errors import LedgerUnavailable
from tests.service.access.conftest import InMemory


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_second_request_within_the_second_asks_nobody(register: InMemory) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    clock, known = Clock(), None
    known = Remembered(register, clock)
    assert [await known.get("anna") for _ in range(5)] == [register.keys["anna"]] * 5
    assert register.asked == 1
    clock.now += 1.0
    await known.get("anna")
    assert register.asked == 2


async def test_a_revoked_key_is_noticed_after_a_second_at_the_latest(register: InMemory) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    clock = Clock()
    known = Remembered(register, clock)
    await known.get("anna")
    await register.revoke("anna")
    clock.now += 1.0
    found = await known.get("anna")
    assert found is not None
    assert found.revoked is not None


async def test_what_was_changed_here_is_noticed_at_once(register: InMemory) -> None:
    known = Remembered(register, Clock())
    assert await known.get("anna") is None
    await register.issue("anna", ("ask",), None, "admin")
    known.forget("anna")
    assert await known.get("anna") == register.keys["anna"]


async def test_with_redis_gone_a_known_key_goes_on_and_an_unknown_one_is_told_why(register: InMemory) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    clock = Clock()
    known = Remembered(register, clock)
    await known.get("anna")
    register.away = True
    clock.now += 3_600.0
    assert await known.get("anna") == register.keys["anna"]
    with pytest.raises(LedgerUnavailable):
        await known.get("ben")


async def test_guessed_names_do_not_fill_the_memory(register: InMemory) -> None:
    known = Remembered(register, Clock())
    for number in range(MOST + 10):
        await known.get(f"guess-{number}")
    register.asked = 0
    await known.get(f"guess-{MOST + 9}")
    assert register.asked == 0
    await known.get("guess-0")
    assert register.asked == 1


async def test_with_redis_hung_not_every_request_waits_for_it(register: InMemory) -> None:
    await register.issue("anna", ("ask",), None, "admin")
    clock = Clock()

    class Hung(InMemory):
        async def get(self, name: str) -> IssuedKey | None:
            clock.now += 2.0
            return await super().get(name)

    hung = Hung()
    hung.keys = register.keys
    known = Remembered(hung, clock)
    await known.get("anna")
    hung.away, hung.asked = True, 0
    clock.now += 3_600.0
    for _ in range(5):
        await known.get("anna")
    assert hung.asked == 1
