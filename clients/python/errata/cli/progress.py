"""What a person who waits for a call sees: a spinner, a bar, or a line now and then."""

from __future__ import annotations

import threading
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from errata import wire
from errata.cli.render.escaping import escape
from errata.cli.render.text import megabytes, plural

PHASES = {  # the words of a phase, and its unit
    "sending": ("Sending", "bytes"),
    "reading": ("Reading", "bytes"),
    "writing": ("Writing", "triples"),
    "committing": ("Committing", None),
    "replicas": ("Telling the replicas", None),
    "checking": ("Checking", "lines"),
    "editing": ("Editing", "lines"),
}
EVERY_S, PATIENCE_S = 10.0, 0.5


class ProgressDisplay:
    """On a terminal a bar, or a spinner with a title; elsewhere a line every `EVERY_S`; a shorter call prints none.

    Args:
        title: Of a call that reports no progress, what it does.
        patience_s: Seconds after which it appears.
    """

    def __init__(self, err: Console, title: str = "", patience_s: float = PATIENCE_S) -> None:
        columns = (TimeElapsedColumn(),) if title else (BarColumn(12), TimeRemainingColumn())
        text = TextColumn("{task.description}")
        self._progress = Progress(SpinnerColumn(), text, *columns, console=err, transient=True)
        self._task = self._progress.add_task(title, total=None)
        self._err, self._phase, self._last_line_s = err, "", time.monotonic()
        self._timer = threading.Timer(patience_s, self._progress.start)
        self._timer.daemon = True

    def update(self, event: wire.ImportProgress) -> None:
        if event.phase != self._phase:
            self._phase = event.phase
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task("", total=event.total)
        text = describe(event)
        self._progress.update(self._task, completed=event.done, total=event.total, description=text)
        if not self._err.is_interactive and time.monotonic() - self._last_line_s >= EVERY_S:
            self._last_line_s = time.monotonic()
            self._err.print(text, soft_wrap=True)

    def __enter__(self) -> Self:
        if self._err.is_interactive:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._err.is_interactive:
            self._timer.join()  # a display that is just starting must have started before it can be stopped
            self._progress.stop()


def describe(event: wire.ImportProgress) -> str:
    """Describe the known progress: `Reading 12.0 of 80.0 MB, 3 lines rejected`."""
    text, unit = PHASES.get(event.phase, (escape(event.phase), None))
    if unit is not None:
        amount = _format_amount(unit, event.done)
        if event.total is not None:
            total = _format_amount(unit, event.total)
            number, size = amount.split(" ", 1)
            # The unit is printed once if both numbers have it.
            amount = f"{number if total.endswith(f' {size}') else amount} of {total}"
        text += f" {amount}"
    return f"{text}, {plural(event.rejected, 'line')} rejected" if event.rejected else text


def _format_amount(unit: str, count: float) -> str:
    return megabytes(count) if unit == "bytes" else f"{count:,.0f} {unit}"
