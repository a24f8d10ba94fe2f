"""The calls of the service, written once: each method describes one checked request.

`Errata` and `AsyncErrata` have the same methods and only add the sending.
"""

from __future__ import annotations

import threading

from errata.calls.admin import AdminCalls
from errata.calls.ask import AskCalls
from errata.calls.edit import EditCalls
from errata.calls.read import ReadCalls

__all__ = ["CallMethods", "Calls"]


class CallMethods(AskCalls, EditCalls, ReadCalls, AdminCalls):
    """Every method that describes a request."""


class Calls(CallMethods):
    """Builds calls, and knows the newest version of one client."""

    def __init__(self, last_version: int | None = None) -> None:
        self._last_version = last_version
        self._lock = threading.Lock()

    @property
    def last_version(self) -> int | None:
        """The newest version that this client has made or learned."""
        return self._last_version

    def learn(self, version: int | None) -> None:
        """Remember the version that the response to a change names."""
        if version is not None:
            with self._lock:
                self._last_version = max(version, self._last_version or 0)
