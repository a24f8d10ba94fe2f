"""The command's exit codes, and its stdout and stderr: when one of them takes no more, that is a code, no traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, TextIO


class Exit(IntEnum):
    OK = 0
    REFUSED = 1  # the service said no, and why
    USAGE = 2  # the command line cannot be used as it is
    UNREACHABLE = 3  # there was no answer, or not one of Errata
    UNSURE = 4  # `ask`: the model declines to answer
    BROKEN = 5  # an edit does not hold, was replaced by mistake, or the rows of an import are damaged
    UNWRITABLE = 6  # stdout, stderr or a file cannot be written; the request may be done all the same
    UNKNOWN = 7  # a change may have been made or not: repeat it with its idempotency key


class Unwritable(Exception):
    """The reason why output cannot be written; empty if its reader has left, as `head` does.

    Not an OSError: typer and rich end the program on those in ways of their own.
    """


class _GuardedFile(io.FileIO):
    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            # What is still in the buffers would fail again at the end of the program.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise Unwritable("" if isinstance(error, BrokenPipeError) else error.strerror) from error


@contextmanager
def streams() -> Iterator[None]:
    """Run the command on streams that may fail. A letter that a terminal cannot show becomes a question mark."""
    try:
        # Python has None for a stream that was closed before the start.
        sys.stderr = _guard(sys.stderr) if sys.stderr else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if not sys.stdout:
            raise Unwritable("stdout is closed; nothing was done")
        sys.stdout = _guard(sys.stdout)
        yield
    except Unwritable as error:
        if str(error):
            with suppress(Unwritable):  # both streams may be on the same full disk
                print(f"error: the output cannot be written: {error}", file=sys.stderr)
        sys.exit(Exit.UNWRITABLE)


def _guard(stream: TextIO) -> TextIO:
    outlet = io.BufferedWriter(_GuardedFile(stream.fileno(), "w", closefd=False))
    lines = bool(stream.line_buffering)
    return io.TextIOWrapper(outlet, encoding=stream.encoding, errors="replace", line_buffering=lines)
