"""Why the service could not start, as the one sentence that is printed."""

from __future__ import annotations


class CannotStart(Exception):
    """The text names the thing and says what to do; the process ends with status 1."""
