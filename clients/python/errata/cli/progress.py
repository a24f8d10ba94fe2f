"""The progress of a long call: a spinner or bar on a terminal, a line now and then in a log, nothing in a pipe."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from errata.cli.render.text import escape, megabytes, plural, seconds
from errata.wire import ImportProgress

PHASES = {  # the words of a phase, and its unit
    "sending": ("Sending", "bytes"),
    "reading": ("Reading", "bytes"),
    "writing": ("Writing", "triples"),
    "committing": ("Committing", None),
    "replicas": ("Telling the replicas", None),
    "checking": ("Checking", "lines"),
    "editing": ("Editing", "lines"),
}
PATIENCE_S = 0.5
EVERY_S = 10.0
TOO_SOON_S = 0.5  # seconds below which a measured rate means nothing


@contextmanager
def show_spinner(err: Console, title: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Show on `err` the current task and its duration, once `patience_s` have passed."""
    if not err.is_interactive:
        yield
        return
    spinner = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=err, transient=True
    )
    spinner.add_task(title, total=None)
    timer = threading.Timer(patience_s, spinner.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a spinner that is just starting must have started before it can be stopped
        if spinner.live.is_started:
            spinner.stop()


class _EventColumn(ProgressColumn):
    """The column of the last event of a phase, with rich's rate and remaining time."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        event: ImportProgress = task.fields["event"]
        return Text(describe(event, task.finished_speed or task.speed))


class ProgressDisplay:
    """A bar on a terminal, elsewhere a line every `EVERY_S`; a shorter call prints none."""

    def __init__(self, err: Console) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(12), _EventColumn())
        self._progress = Progress(*columns, console=err, transient=True)
        self._task: TaskID | None = None
        self._err, self._phase, self._phase_start_s, self._phase_start = err, "", 0.0, 0
        self._last_line_s = time.monotonic()

    def update(self, event: ImportProgress) -> None:
        now_s = time.monotonic()
        if self._task is None or event.phase != self._phase:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._phase, self._phase_start_s, self._phase_start = event.phase, now_s, event.done
            self._task = self._progress.add_task(title(event), total=event.total, event=event)
        self._progress.update(self._task, completed=event.done, total=event.total, event=event)
        if not self._err.is_interactive and now_s - self._last_line_s >= EVERY_S:
            self._last_line_s, passed_s = now_s, now_s - self._phase_start_s
            rate = (event.done - self._phase_start) / passed_s if passed_s > TOO_SOON_S else None
            self._err.print(f"{title(event)} {describe(event, rate)}".rstrip(), soft_wrap=True)

    def __enter__(self) -> Self:
        if self._err.is_interactive:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._err.is_interactive:
            self._progress.stop()


def title(event: ImportProgress) -> str:
    return PHASES.get(event.phase, (escape(event.phase), None))[0]


def describe(event: ImportProgress, rate: float | None) -> str:
    """Describe the known progress: `12.0 of 80.0 MB, 4.0 MB per s, 17 s left, 3 lines rejected`."""
    _, unit = PHASES.get(event.phase, ("", None))
    parts = []
    if unit is not None:
        amount = _format_amount(unit, event.done)
        if event.total is not None:
            total = _format_amount(unit, event.total)
            number, size = amount.split(" ", 1)
            # The unit is printed once if both numbers have it.
            amount = f"{number if total.endswith(f' {size}') else amount} of {total}"
        parts.append(amount)
        if rate:
            parts.append(f"{_format_amount(unit, rate)} per s")
    if rate and event.total is not None and event.total > event.done:
        parts.append(f"{seconds((event.total - event.done) / rate)} left")
    if event.rejected:
        parts.append(f"{plural(event.rejected, 'line')} rejected")
    return ", ".join(parts)


def _format_amount(unit: str, count: float) -> str:
    return megabytes(count) if unit == "bytes" else f"{count:,.0f} {unit}"
