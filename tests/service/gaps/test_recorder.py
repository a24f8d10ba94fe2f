"""An ingress writes its counts by itself, and keeps them while Redis is away."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from service.errors import LedgerUnavailable
from service.gaps import recorder as module
from service.gaps.recorder import GapRecorder
from service.gaps.worklist import Worklist
from service.ledger.redis.connection import Connection
from tests.service.gaps.conftest import Clock
from tests.service.parts import PATIENCE_S


async def test_counts_are_written_without_being_asked(
    worklist: Worklist, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WRITE_EVERY_S", 0.01)
    recorder = GapRecorder(worklist, clock)
    for question in ("Who runs HR?", "who runs HR", "Where?"):
        recorder.record(question, "nkb", "declined")
    assert recorder._task is not None
    await asyncio.wait_for(recorder._task, PATIENCE_S)
    assert [gap.sighting.count for gap in (await worklist.read(10))[0]] == [2, 1]
    await recorder.aclose()


async def test_counts_wait_while_redis_is_away(clock: Clock, worklist: Worklist) -> None:
    nowhere = Connection("unix:///nowhere/at/all", 0.5)
    recorder = GapRecorder(Worklist(nowhere, timedelta(days=1)), clock)
    recorder.record("a", "nkb", "near")
    with pytest.raises(LedgerUnavailable):
        await recorder.flush()
    recorder.record("a", "nkb", "near")
    recorder._worklist = worklist
    await recorder.aclose()
    assert [gap.sighting.count for gap in (await worklist.read(10))[0]] == [2]
    await nowhere.aclose()
