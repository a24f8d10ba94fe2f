"""How every question ended: counted once, where all of them pass, those too that never reach a replica.

Who hangs up is not counted here: nobody was refused. The request is, with status 499.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import (
    ErrataError,
    Internal,
    LedgerCorrupt,
    LedgerUnavailable,
    NotReady,
    TooMany,
    VersionAhead,
)
from service.metrics import metrics
from service.replicas.outcome import CODE, Outcome

FAILED = tuple(
    error.code for error in (Internal, NotReady, VersionAhead, LedgerUnavailable, LedgerCorrupt)
)  # by no fault of the caller


def begin_at_zero(model: str) -> None:
    """Prometheus sees no increase where a series begins with its first event."""
    for outcome in ("answered", "declined", TooMany.code, *FAILED):
        metrics.ANSWERS.labels(model, outcome)


def count(model: str, outcome: Outcome) -> None:
    said = "declined" if outcome.declined else "answered"
    metrics.ANSWERS.labels(model, outcome.headers[CODE] if outcome.status >= 400 else said).inc()


@contextmanager
def counting_failures(model: str) -> Iterator[None]:
    """Of a question that ends with an exception."""
    try:
        yield
    except Exception as error:
        metrics.ANSWERS.labels(model, error.code if isinstance(error, ErrataError) else Internal.code).inc()
        raise
