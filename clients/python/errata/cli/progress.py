"""What a person who waits for a long call sees: a bar, or a line now and then."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
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
EVERY_S = 10.0


class ProgressDisplay:
    """A bar on a terminal, elsewhere a line every `EVERY_S`; a shorter call prints none."""

    def __init__(self, err: Console) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(12), TimeRemainingColumn())
        self._progress = Progress(*columns, console=err, transient=True)
        self._task = self._progress.add_task("", total=None)
        self._err, self._phase, self._last_line_s = err, "", time.monotonic()

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
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._err.is_interactive:
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
