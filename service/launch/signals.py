"""Ctrl-C and SIGTERM as an exception in the main thread, once: a second one must not cut the clearing up short."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """Somebody asked for the end."""


def asked() -> bool:
    """Whether somebody has."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def catch() -> None:
    """Ray puts its own handlers in place of these, so this is called again once it runs."""
    for number in ASKING:
        signal.signal(number, _stop)


def stop() -> NoReturn:
    for number in ASKING:
        signal.signal(number, signal.SIG_IGN)
    raise Stopped


def _stop(number: int, frame: FrameType | None) -> None:
    stop()
