"""Other work is done one piece at a time, and none while a commit is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from service.scheduling import turns as scheduling
from service.scheduling.turns import CommitPriority
from tests.service.parts import PATIENCE_S, run_ready, wait_until


@pytest.fixture
def order() -> list[str]:
    """Return the names of pieces in the order in which they began."""
    return []


async def work(turns: CommitPriority, order: list[str], name: str, seconds: float = 0.0) -> None:
    async with turns.turn():
        order.append(name)
        await asyncio.sleep(seconds)


async def commit(turns: CommitPriority, order: list[str], pause: Callable[[], Awaitable[None]]) -> None:
    with turns.hold():
        await work(turns, order, "commit")
        await pause()
        await work(turns, order, "commit")


async def test_a_commit_waits_for_no_piece_that_others_queue(
    order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "MAX_WAIT_S", PATIENCE_S)
    turns = CommitPriority()
    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(work(turns, order, f"diff {number}", 0.01))
        group.create_task(commit(turns, order, run_ready))
    assert order == ["diff 0", "commit", "commit", "diff 1", "diff 2", "diff 3"]


async def test_long_commits_do_not_stop_the_others(order: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "MAX_WAIT_S", 0.01)
    turns = CommitPriority()
    async with asyncio.TaskGroup() as group:
        group.create_task(commit(turns, order, lambda: wait_until(lambda: "diff" in order)))
        await asyncio.sleep(0)
        group.create_task(work(turns, order, "diff"))
    assert order == ["commit", "diff", "commit"]
