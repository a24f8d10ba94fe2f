"""The start of a process: its look at the server, and how it waits for a ledger that is away, and says for what.

Who fails instead of waiting is started again by Ray, but only a few times, and then never more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError

from service.errors import LedgerUnavailable
from service.ledger.check import Server
from service.ledger.store import RedisLedger

LOOK_EVERY_S, SAY_EVERY_S = 0.5, 30.0
REFUSED = (AuthenticationError, AuthorizationError, NoPermissionError)

T = TypeVar("T")

log = logging.getLogger(__name__)


async def looked_at(url: str) -> Server:
    """Whether the server can hold the ledger, in a layout that we know: a dozen round trips, with time for them."""
    store = RedisLedger.connect(url)
    try:
        return await store.check()
    finally:
        await store.aclose()


async def arrived(step: Callable[[], Awaitable[T]], who: str) -> T:
    """What `step` gives, tried again for as long as the ledger is away. All else that is wrong is raised at once."""
    said = -SAY_EVERY_S
    while True:
        try:
            return await step()
        except LedgerUnavailable as error:
            if not _away(error):
                raise
            if time.monotonic() - said >= SAY_EVERY_S:
                said = time.monotonic()
                log.warning("%s waits for the ledger before it starts: %s", who, error.detail)
        await asyncio.sleep(LOOK_EVERY_S)


def _away(error: LedgerUnavailable) -> bool:
    """Not so a server that is there and does not let us in, or whose data is of a newer Errata."""
    causes = list(_causes(error))
    return bool(causes) and not any(isinstance(cause, REFUSED) for cause in causes)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """redis-py makes a refusal a broken connection, whose cause is the refusal."""
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__
