"""The parts of one run of the command: the client, and the two streams."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console, RenderableType

from errata import wire
from errata.calls import Calls
from errata.cli.progress import ProgressDisplay
from errata.cli.render.escaping import make_printable
from errata.cli.streams import Exit
from errata.client import Errata
from errata.request import Call, Reply, T_co


@dataclass(frozen=True)
class Session:
    errata: Errata
    as_json: bool
    out: Console
    err: Console

    @property
    def calls(self) -> Calls:
        return self.errata.calls

    def send(self, call: Call[T_co], title: str, display: ProgressDisplay | None = None) -> Reply[T_co]:
        """Send a call, and show `title`, such as `Asking`, or the progress in `display` while a person waits."""
        try:
            with display or ProgressDisplay(self.err, title):
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


def is_terminal() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()
