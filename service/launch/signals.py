"""How a launch ends: by the first signal that asks for it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(Exception):
    """A signal has asked the service to stop."""


def is_stop_requested() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def catch_signals() -> None:
    """Install the handlers. Ray replaces them, so this is called again once Ray runs."""
    for number in STOP_SIGNALS:
        signal.signal(number, request_stop)


def request_stop(number: int = 0, frame: FrameType | None = None) -> NoReturn:
    """Stop the service; this is also the signals' handler."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StopRequested
