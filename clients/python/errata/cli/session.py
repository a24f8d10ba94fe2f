"""What one run of the command works with: the client, the two streams, and whether JSON was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from errata.call import Call, Reply, T_co
from errata.calls import Calls
from errata.cli.waiting import waiting
from errata.cli.words import printable
from errata.client import Errata

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
