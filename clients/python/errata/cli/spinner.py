"""What a person who waits for one call sees: a spinner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

PATIENCE_S = 0.5


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
