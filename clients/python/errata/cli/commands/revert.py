"""`errata revert` and `errata rollback`: take something back, by a new commit; history is never rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.console import RenderableType

from errata.cli.options import Undo, Write
from errata.cli.receipts import make, require_success
from errata.cli.render.receipt import MAX_SHOWN, draw_head, draw_receipt
from errata.cli.render.text import escape
from errata.cli.session import Session
from errata.errors import NothingToDo
from errata.wire import EditReceipt, Report

EDIT_ID = re.compile(r"[0-9a-f]{12}")
RANGE = re.compile(r"(\d{1,16})(?:-(\d{1,16}))?")
MAX_REVERTS = 1_000  # commits that one command takes back


def revert(
    session: Session,
    versions: Annotated[
        list[str],
        typer.Argument(
            metavar="VERSION...",
            help="The commit to take back, however old; several, or 5-9. An edit's id takes back that edit alone.",
        ),
    ],
    write: Undo = Write(),
) -> None:
    """Take commits back, each in a new commit, or single edits; what came after them stays."""
    ids = list(dict.fromkeys(name for name in versions if EDIT_ID.fullmatch(name)))
    targets: list[str | int] = [*ids, *parse_versions([name for name in versions if name not in ids])]
    draw: Callable[..., RenderableType] = partial(draw_receipt, verbose=write.verbose)
    if len(targets) > MAX_SHOWN:
        draw = draw_first_line
    reports: list[Report] = []
    for count, target in enumerate(targets, start=1):
        subject = f"version {target}" if isinstance(target, int) else f"edit {target}"
        title, options = f"Taking back {subject}", write.of_commit
        if len(targets) > 1:
            title = f"{title} ({count} of {len(targets)})"
            options["idempotency_key"] = write.idempotency_key and f"{write.idempotency_key}-{target}"
        if isinstance(target, int):
            call = session.calls.revert(target, **options)
        else:
            call = session.calls.revert(edits=[target], **options)
        try:
            reply = session.send(call, title)
        except NothingToDo as error:
            if len(targets) == 1:
                raise
            session.err.print(f"{subject.capitalize()}: {escape(str(error))}.", soft_wrap=True)
        else:
            summary = f"taking back {subject}" if write.dry_run else f"{subject} is taken back"
            session.show(reply, partial(draw, summary=summary))
            reports.append(reply.value.report)
    require_success(*reports)


def draw_first_line(receipt: EditReceipt, summary: str) -> RenderableType:
    """Draw what one of very many commits did."""
    return draw_head(receipt, summary)[0]


def parse_versions(arguments: list[str]) -> list[int]:
    """Return versions, the newest first, in the order of taking them back by hand."""
    versions: set[int] = set()
    for argument in arguments:
        match = RANGE.fullmatch(argument)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise typer.BadParameter(
                f"{argument!r} is no version: give a number from 1 on, a range as 5-9, or the id of an edit"
            )
        if last - first >= MAX_REVERTS:
            raise typer.BadParameter(
                f"{argument}: at most {MAX_REVERTS:,} at once; errata rollback goes back in one step"
            )
        versions.update(range(first, last + 1))
    return sorted(versions, reverse=True)


def rollback(
    session: Session,
    target: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="The version to go back to, or its tag.")
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="VERSION", help="The same, as an option.")] = None,
    write: Undo = Write(),
) -> None:
    """Make an old version the current one again; 0 is the base, before any edit."""
    if (target is None) == (to is None):
        raise typer.BadParameter("give one version to go back to: errata rollback 56, or --to 56")
    version = session.resolve_version(target or to or "")
    call, title = session.calls.rollback(version, **write.of_commit), f"Going back to version {version}"
    summary = (
        f"going back to version {version}" if write.dry_run else f"everything is as at version {version}"
    )
    make(session, call, write, title, summary)
