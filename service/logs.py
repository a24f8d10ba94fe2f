"""What the service's processes say, a line each: for a person, or as JSON for whoever collects it.

All of them write to one file, each line at once. A process that Ray starts finds format, level and file in the
environment, since nothing else is there yet when it begins to speak.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextvars import ContextVar
from logging.handlers import WatchedFileHandler
from typing import Literal, TypeAlias

from pythonjsonlogger.json import JsonFormatter

from service.tracing import trace_id

Format: TypeAlias = Literal["console", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

FORMAT, LEVEL, FILE = "ERRATA_LOG_FORMAT", "ERRATA_LOG_LEVEL", "ERRATA_LOG_FILE"
OURS = "service"  # the loggers that the level is for; of libraries only warnings are of interest
NAMES = {"asctime": "time", "levelname": "level", "name": "logger"}

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Of the request that is being answered."""


class _Request(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.__dict__["request"], record.__dict__["trace"] = request_id.get(), trace_id()
        return True


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        own = record.__dict__.get("request")
        whose = f" [{own}]" if own else ""
        return super().format(record) + whose


def environment(format: Format, level: Level, file: str) -> Mapping[str, str]:
    """For the processes that are started."""
    return {FORMAT: format, LEVEL: level, FILE: file}


def configure() -> None:
    """In this process, as its environment says; with no file, to stderr."""
    file = os.environ.get(FILE)
    handler = WatchedFileHandler(file, encoding="utf-8") if file else logging.StreamHandler()
    handler.setFormatter(_formatter(os.environ.get(FORMAT, "console")))
    handler.addFilter(_Request())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(OURS).setLevel(os.environ.get(LEVEL, "warning").upper())


def _formatter(format: str) -> logging.Formatter:
    if format == "json":
        fields = "%(asctime)s %(levelname)s %(name)s %(process)d %(request)s %(trace)s %(message)s"
        return JsonFormatter(fields, rename_fields=NAMES, datefmt="%Y-%m-%dT%H:%M:%S%z")
    return _Console("%(asctime)s %(levelname)s %(name)s: %(message)s")
