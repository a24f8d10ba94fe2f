"""`errata revert` and `errata rollback`: take something back, by a new commit; history is never rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.console import RenderableType

from errata.cli.options import DryRun, Key, Message, NoWait, NoWaitReport, Strict, Verbose, commit_options
from errata.cli.receipts import require_success, show_receipt
from errata.cli.render.receipt import MAX_SHOWN, draw_headline, draw_outcome, draw_receipt
from errata.cli.render.text import escape
from errata.cli.session import Session
from errata.errors import NothingToDo
from errata.wire import Report

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
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    no_wait: NoWait = False,
    no_wait_report: NoWaitReport = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Take commits back, each in a new commit, or single edits; what came after them stays."""
    ids = list(dict.fromkeys(name for name in versions if EDIT_ID.fullmatch(name)))
    targets: list[str | int] = [*ids, *parse_versions([name for name in versions if name not in ids])]
    draw: Callable[..., RenderableType] = partial(draw_receipt, verbose=verbose)
    if len(targets) > 1:  # each is shorter: of very many, one line
        draw = draw_outcome if len(targets) <= MAX_SHOWN else draw_headline
    reports: list[Report] = []
    for count, target in enumerate(targets, start=1):
        subject = f"version {target}" if isinstance(target, int) else f"edit {target}"
        key, title = idempotency_key, f"Taking back {subject}"
        if len(targets) > 1:
            key = f"{idempotency_key}-{target}" if idempotency_key else None
            title = f"{title} ({count} of {len(targets)})"
        options = commit_options(message, no_wait, key, strict, dry_run, no_wait_report)
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
            summary = f"taking back {subject}" if dry_run else f"{subject} is taken back"
            session.show(reply, partial(draw, summary=summary))
            reports.append(reply.value.report)
    require_success(*reports)


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
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    no_wait: NoWait = False,
    no_wait_report: NoWaitReport = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Make an old version the current one again; 0 is the base, before any edit."""
    if (target is None) == (to is None):
        raise typer.BadParameter("give one version to go back to: errata rollback 56, or --to 56")
    version = session.resolve_version(target or to or "")
    call = session.calls.rollback(
        version, **commit_options(message, no_wait, idempotency_key, strict, dry_run, no_wait_report)
    )
    reply = session.send(call, f"Going back to version {version}")
    summary = f"going back to version {version}" if dry_run else f"everything is as at version {version}"
    show_receipt(session, reply, summary, verbose)
