"""Made once for all who ask meanwhile, few at a time, for nobody not at all."""

from __future__ import annotations

import asyncio

import pytest

from service.builds import Builds


class Maker:
    """Makes a number when it is let go on. running, most: how many are under way, and were at most."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = self.running = self.most = 0

    async def __call__(self) -> int:
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        return self.begun


async def test_of_many_who_ask_for_one_it_is_made_once_and_then_anew() -> None:
    builds, make = Builds[int](2), Maker()
    askers = [asyncio.create_task(builds.get("one", make)) for _ in range(5)]
    await asyncio.sleep(0)
    make.go.set()
    assert await asyncio.gather(*askers) == [1] * 5
    assert await builds.get("one", make) == 2


async def test_no_more_are_under_way_than_may_be() -> None:
    builds, make = Builds[int](2), Maker()
    askers = [asyncio.create_task(builds.get(number, make)) for number in range(6)]
    await asyncio.sleep(0.01)
    assert make.begun == 2
    make.go.set()
    await asyncio.gather(*askers)
    assert (make.begun, make.most) == (6, 2)


async def test_it_ends_with_the_last_who_waits_and_not_before() -> None:
    builds, make = Builds[int](1), Maker()
    one, other = (asyncio.create_task(builds.get("one", make)) for _ in range(2))
    await asyncio.sleep(0.01)
    one.cancel()
    await asyncio.sleep(0.01)
    assert make.running == 1
    other.cancel()
    await asyncio.sleep(0.01)
    assert make.running == 0
    make.go.set()
    assert await builds.get("one", make) == 2


async def test_what_fails_fails_for_all_who_wait_and_is_tried_again() -> None:
    tries = 0

    async def fails() -> int:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0.01)
        raise ValueError("broken")

    builds = Builds[int](1)
    found = await asyncio.gather(*(builds.get("one", fails) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in found] == ["broken"] * 3
    with pytest.raises(ValueError, match="broken"):
        await builds.get("one", fails)
    assert tries == 2
