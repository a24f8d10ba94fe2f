"""Where the time of a commit went, for its report and for the metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

from errata.wire import EditTimings

from service.metrics import metrics
from service.tracing import span

Part = Literal["editor", "report", "commit", "replicas"]


class Stopwatch:
    """Adds up the seconds of each part."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        started = perf_counter()
        try:
            with span(name):
                yield
        finally:
            self._seconds[name] += perf_counter() - started

    def timings(self) -> EditTimings:
        spent = {
            name: round(1e3 * self._seconds[name], 3) for name in ("editor", "report", "commit", "replicas")
        }
        return EditTimings(**{f"{name}_ms": ms for name, ms in spent.items()})

    def publish(self) -> None:
        for name, seconds in self._seconds.items():
            metrics.COMMIT_PARTS.labels(name).observe(seconds)
