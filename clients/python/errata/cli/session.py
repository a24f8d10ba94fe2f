"""The parts of one run of the command: the key, the client, the two streams, what a person who waits sees."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment

from errata import wire
from errata.address import base_url, is_loopback
from errata.calls import Calls
from errata.cli.render.text import escape, make_printable, megabytes, plural
from errata.cli.streams import Exit
from errata.client import Errata
from errata.request import Call, Reply, T_co

PIPE_COLUMNS = 10_000  # columns in a pipe, so that no line is wrapped: programs read it line by line
KEY_FILE = Path("var") / "admin.key"
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


@dataclass(frozen=True)
class Key:
    """A key; `source` names its origin for the message about a refused key."""

    value: str | None
    source: str


def find_key(option: str | None, url: str, start: Path) -> Key:
    """Return the key of the option, or the one that a service on this machine has left in `start` or above it.

    A key from a file is never sent to another machine: the file belongs to the service beside it.
    """
    if option:
        return Key(option.strip(), "given by --key or ERRATA_KEY")
    if not is_loopback(base_url(url)):
        return Key(None, f"a key in {KEY_FILE} is only for this machine")
    for folder in (start, *start.parents):
        try:
            value = (folder / KEY_FILE).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            # The file belongs to another user, and most questions need no key
            return Key(None, f"the one in {folder / KEY_FILE} cannot be read: {error}")
        return Key(value, f"in {folder / KEY_FILE}") if value else Key(None, f"{folder / KEY_FILE} is empty")
    return Key(None, f"there is no {KEY_FILE} in {start} or above it")


class Page(Console):
    """Prints plain text, without markup, emoji codes or coloured numbers.

    Args:
        site: Address that is put before links that are paths.
    """

    def __init__(self, site: str, stderr: bool, width: int | None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)
        self._site = site

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            style = segment.style
            if style is not None and style.link is not None and style.link.startswith("/"):
                segment = segment._replace(style=style.update_link(self._site + style.link))
            yield segment


def make_console(site: str = "", *, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS
    return Page(site, stderr, width)


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


@dataclass(frozen=True)
class Session:
    errata: Errata
    as_json: bool
    out: Console
    err: Console

    @property
    def calls(self) -> Calls:
        return self.errata.calls

    def send(
        self, call: Call[T_co], title: str, display: AbstractContextManager[object] | None = None
    ) -> Reply[T_co]:
        """Send a call, and show `title`, such as `Asking`, or the progress in `display` while a person waits."""
        try:
            with display or show_spinner(self.err, title):
                return self.errata.send(call)
        except KeyboardInterrupt:
            if not call.reads and not call.sent_whole:
                self.err.print("Interrupted before all of it was sent: nothing was imported.", soft_wrap=True)
            elif not call.reads:
                warning = "Interrupted; the change may be made all the same: `errata log` shows it."
                if call.idempotency_key:
                    warning += f" Repeat it with --idempotency-key {call.idempotency_key}: it is made once."
                self.err.print(warning, soft_wrap=True)
            raise

    def run(self, call: Call[T_co], title: str, draw: Callable[[T_co], RenderableType]) -> T_co:
        """Send a call, show its reply and return its value."""
        reply = self.send(call, title)
        self.show(reply, draw)
        return reply.value

    def show(self, reply: Reply[T_co], draw: Callable[[T_co], RenderableType]) -> None:
        """Print a reply as it came over the wire, or drawn for a person."""
        if self.as_json:
            typer.echo(reply.raw)
        else:
            self.out.print(draw(make_printable(reply.value)))

    def resolve_version(self, text: str | None) -> int | None:
        """Return the version of a number, which may not exist, or of a tag; None for none."""
        if text is None:
            return None
        if re.fullmatch(r"-?[0-9]{1,16}", text):
            return int(text)
        if not re.fullmatch(wire.TAG, text):
            raise typer.BadParameter(f"{text!r} is no version: give a number or a tag")
        if (version := self.find_tag(text)) is None:
            raise typer.BadParameter(
                f"{text!r} is no version and no tag: `errata log` and `errata tags` list them"
            )
        return version

    def find_tag(self, name: str) -> int | None:
        """Return the version that a tag names; None if there is no such tag."""
        tags = self.send(self.calls.tags(), "Reading the tags").value.tags
        return next((tag.version for tag in tags if tag.name == name), None)

    def newest_version(self) -> int:
        return self.send(self.calls.log(limit=1), "Looking for the newest version").value.head

    def write_file(self, file: Path, content: str | bytes, remark: str = "") -> None:
        """Write a file; `remark` is added to the message if that fails."""
        try:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            self.err.print(f"error: {file} cannot be written: {error.strerror}{remark}", soft_wrap=True)
            raise typer.Exit(Exit.UNWRITABLE) from error


def check_writable(file: Path) -> None:
    try:
        file.open("ab").close()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}; nothing was done") from error


def is_terminal() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()
