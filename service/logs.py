"""Logging of the service's processes, one line per record: for a person, or as JSON for a collector.

All processes write to one file, each line at once. A process that Ray starts finds format, level and file in the
environment, which is the only thing that exists when it begins to log.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Hashable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from logging.handlers import WatchedFileHandler
from typing import Literal, TypeAlias

from cachetools import LRUCache
from pythonjsonlogger.json import JsonFormatter

from service.tracing import trace_id

Format: TypeAlias = Literal["console", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

FORMAT, LEVEL, FILE = "ERRATA_LOG_FORMAT", "ERRATA_LOG_LEVEL", "ERRATA_LOG_FILE"
ROOT = "service"  # loggers to which the level applies; libraries log warnings only
JSON_FIELDS = "%(asctime)s %(levelname)s %(name)s %(process)d %(request)s %(trace)s %(message)s"
JSON_NAMES = {"asctime": "time", "levelname": "level", "name": "logger"}

REPEATS, MINUTE_S = 5, 60.0
MAX_SERIES = 1_000  # pairs of place and caller that are counted separately
WITHOUT_LIMIT = {"unlimited": True}  # `extra` of a record that is logged however often it happens

request_id: ContextVar[str] = ContextVar("request_id", default="")  # id of the request that is being answered


class RepeatFilter(logging.Filter):
    """Passes a few warnings a minute from one line of code and one caller; the next one counts those left out.

    Otherwise a caller who can make the service warn could fill its disk.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._series: LRUCache[Hashable, _Series] = LRUCache(MAX_SERIES)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or record.__dict__.get("unlimited"):
            return True
        place = (record.name, record.pathname, record.lineno, record.__dict__.get("caller", ""))
        series, now = self._series.get(place), self._clock()
        if series is None or now - series.begun_at >= MINUTE_S:
            n_dropped = series.n_dropped if series else 0
            series = self._series[place] = _Series(now)
            if n_dropped:
                record.msg = f"{record.getMessage()} (and {n_dropped:,} more like it)"
                record.args = None
        if series.n_passed == REPEATS:
            series.n_dropped += 1
            return False
        series.n_passed += 1
        return True


@dataclass
class _Series:
    """The records of one place in the minute from `begun_at`, a monotonic time in seconds."""

    begun_at: float
    n_passed: int = 0
    n_dropped: int = 0


class _RequestFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.__dict__["request"], record.__dict__["trace"] = request_id.get(), trace_id()
        return True


class LogFile(WatchedFileHandler):
    """The file of all processes. Records that cannot be written, such as on a full disk, are lost."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # it was moved, and cannot be opened anew
            self.handleError(record)


class _ConsoleFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        request = record.__dict__.get("request")
        return super().format(record) + (f" [{request}]" if request else "")


def environment(format: Format, level: Level, file: str) -> Mapping[str, str]:
    """Return the environment variables from which started processes configure themselves."""
    return {FORMAT: format, LEVEL: level, FILE: file}


def configure() -> None:
    """Configure this process from its environment; without a file, it logs to stderr."""
    file = os.environ.get(FILE)
    handler = LogFile(file, encoding="utf-8", delay=True) if file else logging.StreamHandler()
    if os.environ.get(FORMAT, "console") == "json":
        handler.setFormatter(
            JsonFormatter(JSON_FIELDS, rename_fields=JSON_NAMES, datefmt="%Y-%m-%dT%H:%M:%S%z")
        )
    else:
        handler.setFormatter(_ConsoleFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RepeatFilter())
    handler.addFilter(_RequestFilter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(ROOT).setLevel(os.environ.get(LEVEL, "warning").upper())
