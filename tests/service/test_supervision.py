"""Background work starts again after an error, which is logged and counted."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from service import supervision
from service.concurrency import cancel_and_wait
from service.supervision import supervise
from tests.service.parts import PATIENCE_S


async def test_work_goes_on_after_an_error_and_ends_when_it_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervision, "PAUSE_S", 0.001)
    starts, runs_again = 0, asyncio.Event()

    async def watch() -> None:
        nonlocal starts
        starts += 1
        value = REGISTRY.get_sample_value("errata_background_failures_total", {"work": "a test"})
        assert value == starts - 1  # 0 before the first, so that it is an increase
        if starts < 3:
            raise OSError(28, "No space left on device")
        runs_again.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(supervise("a test", watch))
    async with asyncio.timeout(PATIENCE_S):
        await runs_again.wait()
    await cancel_and_wait([task])
    assert task.cancelled()
    assert starts == 3
    assert sum("No space left" in record.exc_text for record in caplog.records if record.exc_text) == 2
    assert REGISTRY.get_sample_value("errata_background_failures_total", {"work": "a test"}) == 2
