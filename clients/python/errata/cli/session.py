"""The parts of one run of the command: the key, the client, the two streams, and whether the output is JSON."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from errata import wire
from errata.address import base_url, is_loopback
from errata.calls import Calls
from errata.cli.progress import show_spinner
from errata.cli.render.text import make_printable
from errata.cli.streams import Exit
from errata.client import Errata
from errata.request import Call, Reply, T_co

PIPE_COLUMNS = 10_000  # columns in a pipe, so that no line is wrapped: programs read it line by line
KEY_FILE = Path("var") / "admin.key"


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
        except (
            OSError,
            UnicodeDecodeError,
        ) as error:  # the file belongs to another user; most questions need no key
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

    def show(self, reply: Reply[T_co], draw: Callable[[T_co], RenderableType]) -> None:
        """Print a reply as it came over the wire, or drawn for a person."""
        if self.as_json:
            typer.echo(reply.raw)
        else:
            self.out.print(draw(make_printable(reply.value)))

    def resolve_version(self, text: str) -> int:
        """Return the version of a number, which may not exist, or of a tag."""
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
