"""How a launch ends other than by an unexpected error: it cannot start, or somebody asks it to stop.

Ctrl-C and SIGTERM become an exception in the main thread, once: a second one must not cut the cleaning up short.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CannotStart(Exception):
    """The text is the one sentence that is printed: it names the thing and says what to do. Exit status 1."""


class StopRequested(Exception):
    """A signal has asked the service to stop."""


def is_stop_requested() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def catch_signals() -> None:
    """Ray puts its own handlers in place of these, so this is called again once it runs."""
    for number in STOP_SIGNALS:
        signal.signal(number, request_stop)


def request_stop(number: int = 0, frame: FrameType | None = None) -> NoReturn:
    """Also the handler of the signals."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StopRequested
