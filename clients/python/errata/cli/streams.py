"""stdout and stderr of the command: when one of them takes no more, that is an exit code and not a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from errata.cli.errors import Exit


class Unwritable(Exception):
    """Why output cannot be written; empty when its reader has left, as `head` does, and nobody misses the rest.

    Not an OSError: typer and rich end the program on those in ways of their own.
    """


class _Outlet(io.FileIO):
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
        _prepare()
        yield
    except Unwritable as error:
        if str(error):
            with suppress(Unwritable):  # both streams may be on the same full disk
                print(f"error: the output cannot be written: {error}", file=sys.stderr)
        sys.exit(Exit.UNWRITABLE)


def _prepare() -> None:
    """Python has None for a stream that was closed before the start."""
    sys.stderr = _guarded(sys.stderr) if sys.stderr else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if not sys.stdout:
        raise Unwritable("stdout is closed; nothing was done")
    sys.stdout = _guarded(sys.stdout)


def _guarded(stream: TextIO) -> TextIO:
    outlet = io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False))
    lines = bool(stream.line_buffering)
    return io.TextIOWrapper(outlet, encoding=stream.encoding, errors="replace", line_buffering=lines)
