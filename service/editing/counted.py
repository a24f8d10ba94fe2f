"""Every write is counted once, by its kind and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from service.editing.writer import Written
from service.errors import ErrataError, Internal, LedgerCorrupt, LedgerUnavailable, NotReady
from service.metrics import metrics

KINDS = ("edit", "revert", "rollback", "import")
CANCELLED = "cancelled"  # by who asked for it, or by Ray
FAILED = (Internal.code, NotReady.code, LedgerUnavailable.code, LedgerCorrupt.code, CANCELLED)


def begin_at_zero() -> None:
    """Prometheus sees no increase where a series begins with its first event."""
    for kind in KINDS:
        for ending in ("committed", *FAILED):
            metrics.EDITS.labels(kind, ending)
    for part in ("editor", "report", "commit", "replicas"):
        metrics.COMMIT_PARTS.labels(part)
    metrics.REDIS_FAILURES.labels("editor")


async def counted(kind: str, write: Callable[[], Awaitable[Written]]) -> Written:
    ending = Internal.code
    try:
        written = await write()
        ending = "dry_run" if written.commit is None else "committed"
    except ErrataError as error:
        ending = error.code
        if isinstance(error, LedgerUnavailable):
            metrics.REDIS_FAILURES.labels("editor").inc()
        raise
    except asyncio.CancelledError:
        ending = CANCELLED
        raise
    finally:
        metrics.EDITS.labels(kind, ending).inc()
    if written.commit is not None:
        metrics.count_commit(written.commit.author)
    return written
