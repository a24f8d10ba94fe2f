"""Background work that goes on after an error, which would otherwise end it without a word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from service.metrics import metrics

PAUSE_S = 5.0  # seconds between an error and the next start

log = logging.getLogger(__name__)


async def supervise(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run work that should never end, and start it again after an error, which is logged and counted."""
    failures = metrics.BACKGROUND_FAILURES.labels(name)  # 0 from now on, so that the first one is an increase
    while True:
        try:
            await work()
            return
        except Exception:
            log.exception("%s failed, and is started again in %g s", name, PAUSE_S)
            failures.inc()
        await asyncio.sleep(PAUSE_S)
