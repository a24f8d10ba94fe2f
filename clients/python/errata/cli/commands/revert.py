"""`errata revert` and `errata rollback`: take something back, by a new commit; history is never rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.console import RenderableType

from errata.cli.commands.tags import version_of
from errata.cli.options import Key, Message, NoWait, Strict, how_to_commit
from errata.cli.render.receipt import MOST_SHOWN, draw_effects, draw_headline, draw_receipt
from errata.cli.render.text import visible
from errata.cli.session import Session
from errata.errors import NothingToDo
from errata.wire import EditReceipt

RANGE = re.compile(r"(\d{1,16})(?:-(\d{1,16}))?")
MOST = 1_000  # commits that one command takes back


def revert(
    here: Session,
    versions: Annotated[
        list[str],
        typer.Argument(metavar="VERSION...", help="The commit to take back, however old; several, or 5-9."),
    ],
    message: Message = "",
    strict: Strict = False,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Take commits back, each in a new commit; what came after them stays."""
    wanted = _numbers(versions)
    for count, version in enumerate(wanted, start=1):
        key = f"{idempotency_key}-{version}" if idempotency_key and len(wanted) > 1 else idempotency_key
        call = here.calls.revert(version, **how_to_commit(message, no_wait, key, strict))
        place = f" ({count} of {len(wanted)})" if len(wanted) > 1 else ""
        try:
            reply = here.send(call, f"Taking back version {version}{place}")
        except NothingToDo as error:
            if len(wanted) == 1:
                raise
            here.err.print(f"Version {version}: {visible(str(error))}.", soft_wrap=True)
        else:
            here.show(reply, _draw(len(wanted), f"version {version} is taken back"))


def _draw(count: int, done: str) -> Callable[[EditReceipt], RenderableType]:
    """Of many at once each in one line."""
    if count == 1:
        return partial(draw_receipt, done=done)
    return partial(draw_effects if count <= MOST_SHOWN else draw_headline, done=done)


def _numbers(versions: list[str]) -> list[int]:
    """The newest first, as they would be taken back by hand."""
    found: set[int] = set()
    for one in versions:
        range_ = RANGE.fullmatch(one)
        first, last = (int(range_[1]), int(range_[2] or range_[1])) if range_ else (0, 0)
        if not 1 <= first <= last:
            raise typer.BadParameter(f"{one!r} is no version: give a number from 1 on, or a range as 5-9")
        if last - first >= MOST:
            raise typer.BadParameter(
                f"{one}: at most {MOST:,} at once; errata rollback goes back in one step"
            )
        found.update(range(first, last + 1))
    return sorted(found, reverse=True)


def rollback(
    here: Session,
    to: Annotated[
        str, typer.Option("--to", metavar="VERSION", help="The version to go back to, or its tag.")
    ],
    message: Message = "",
    strict: Strict = False,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Make an old version the current one again; 0 is the base, before any edit."""
    version = version_of(here, to)
    call = here.calls.rollback(version, **how_to_commit(message, no_wait, idempotency_key, strict))
    done = f"everything is as at version {version}"
    reply = here.send(call, f"Going back to version {version}")
    here.show(reply, lambda receipt: draw_receipt(receipt, done))
