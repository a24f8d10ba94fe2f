"""The common options of commands that make changes, and how these options are read."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Annotated, Any, cast

import typer

from errata.calls.edit import CommitOptions, EditOptions

NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until all replicas have it.")]
NoWaitReport = Annotated[
    bool,
    typer.Option(
        "--no-wait-report", help="Do not wait until it is measured what else changes: show has it later."
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--idempotency-key", help="Repeat a change that may have been made: it is made once."),
]
Message = Annotated[str, typer.Option("--message", "-m", help="Why; it stands in the log.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Measure only; change nothing.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse if it breaks or replaces an earlier edit, changes another answer or misspells a name.",
    ),
]
Expect = Annotated[
    int | None,
    typer.Option("--expect", metavar="VERSION", help="Refuse if this is not the newest version any more."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show internals, too: slots, margins, rows and milliseconds."),
]
At = Annotated[int | None, typer.Option("--at", metavar="VERSION", min=0, help="As it was at this version.")]
AtOrTag = Annotated[
    str | None, typer.Option("--at", metavar="VERSION", help="As it was at this version, or this tag.")
]


def parse_day(text: str) -> date:
    """Read a day."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no day: write it as 2027-06-01") from error


Review = Annotated[
    date | None,
    typer.Option(
        "--review",
        parser=parse_day,
        metavar="DAY",
        help="The day to look at it again, such as 2027-06-01: `errata reviews` lists it then.",
    ),
]

TIMES = "2026-11-22 or '2026-11-22 14:30'"  # two spellings of a time, as help and errors show them


def parse_time(text: str) -> datetime:
    """Read a day, or a day with a time; without a time zone it is local."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time: write it as {TIMES}") from error


def commit_options(
    message: str, no_wait: bool, key: str | None, strict: bool, dry_run: bool, no_wait_report: bool = False
) -> CommitOptions:
    """Return the options of a write; `no_wait` waits for no report either."""
    return CommitOptions(
        message=message,
        wait="none" if no_wait else "all",
        wait_report=not (no_wait or no_wait_report or dry_run),
        strict=strict,
        dry_run=dry_run,
        idempotency_key=key,
    )


def edit_options(
    message: str,
    no_wait: bool,
    key: str | None,
    dry_run: bool,
    expect: int | None,
    strict: bool,
    no_wait_report: bool = False,
    review: date | None = None,
) -> EditOptions:
    """Return the options of an edit, as `commit_options` does."""
    commit = commit_options(message, no_wait, key, strict, dry_run, no_wait_report)
    return cast(EditOptions, {**commit, "expected_version": expect, "review": review})


def parse_setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is JSON is that value, any other a text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is no setting: write NAME=VALUE, such as lambda=0.07")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
