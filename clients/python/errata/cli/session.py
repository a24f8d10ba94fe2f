"""What one run of the command works with: the client, the two streams, and whether JSON was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from errata.address import base_url, is_loopback
from errata.calls import Calls
from errata.cli.progress import waiting
from errata.cli.render.text import printable
from errata.client import Errata
from errata.request import Call, Reply, T_co

PIPE_COLUMNS = 10_000  # in a pipe nothing is wrapped: what reads it looks for lines


class Page(Console):
    """Prints what it is given: no markup, no emoji codes, no colouring of numbers.

    site: what a link that is a path is relative to.
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


def console(site: str = "", *, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS
    return Page(site, stderr, width)


def _interrupted(call: Call[T_co]) -> str:
    if not call.arrived:
        return "Interrupted before all of it was sent: nothing was imported."
    again = f" Repeat it with --idempotency-key {call.idempotency_key}: it is made once."
    said = "Interrupted; the change may be made all the same: `errata log` shows it."
    return said + (again if call.idempotency_key else "")


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
        self, call: Call[T_co], doing: str, showing: AbstractContextManager[object] | None = None
    ) -> Reply[T_co]:
        """doing: what a person who waits is told, e.g. `Asking`. showing: in place of that, how far it is."""
        try:
            with showing or waiting(self.err, doing):
                return self.errata.send(call)
        except KeyboardInterrupt:
            if not call.reads:
                self.err.print(_interrupted(call), soft_wrap=True)
            raise

    def show(self, reply: Reply[T_co], draw: Callable[[T_co], RenderableType]) -> None:
        """Print a reply: as it came over the wire, or as a person reads it."""
        if self.as_json:
            typer.echo(reply.raw)
        else:
            self.out.print(draw(printable(reply.value)))


KEY_FILE = Path("var") / "admin.key"


@dataclass(frozen=True)
class Key:
    """source: where it came from, in words, for the message that says it was refused."""

    value: str | None
    source: str


def find_key(given: str | None, url: str, start: Path) -> Key:
    """A key from a file is never sent to another machine: the file belongs to the service beside it."""
    if given:
        return Key(given.strip(), "given by --key or ERRATA_KEY")
    if not is_loopback(base_url(url)):
        return Key(None, f"a key in {KEY_FILE} is only for this machine")
    for folder in (start, *start.parents):
        try:
            value = (folder / KEY_FILE).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:  # somebody else's; most questions need no key
            return Key(None, f"the one in {folder / KEY_FILE} cannot be read: {error}")
        return Key(value, f"in {folder / KEY_FILE}") if value else Key(None, f"{folder / KEY_FILE} is empty")
    return Key(None, f"there is no {KEY_FILE} in {start} or above it")
