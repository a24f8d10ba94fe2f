"""The options that commands which change something have in common, and what they make of them."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.calls.edits import CommitOptions, EditOptions
from errata.wire import Wait

NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until all replicas have it.")]
Key = Annotated[
    str | None,
    typer.Option("--idempotency-key", help="Repeat a change that may have been made: it is made once."),
]
Message = Annotated[str, typer.Option("--message", "-m", help="Why; it stands in the log.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Measure only; change nothing.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse if a fact test of an earlier edit would no longer hold.")
]
Expect = Annotated[
    int | None,
    typer.Option("--expect", metavar="VERSION", help="Refuse if this is not the newest version any more."),
]
At = Annotated[int | None, typer.Option("--at", metavar="VERSION", min=0, help="As it was at this version.")]


def how_to_commit(message: str, no_wait: bool, key: str | None, strict: bool) -> CommitOptions:
    how = CommitOptions(message=message, wait=waiting_for(no_wait), strict=strict)
    if key is not None:
        how["idempotency_key"] = key
    return how


def how_to_edit(
    message: str, no_wait: bool, key: str | None, dry_run: bool, expect: int | None, strict: bool
) -> EditOptions:
    how = EditOptions(message=message, wait=waiting_for(no_wait), strict=strict, dry_run=dry_run)
    if key is not None:
        how["idempotency_key"] = key
    if expect is not None:
        how["expected_version"] = expect
    return how


def waiting_for(no_wait: bool) -> Wait:
    return "none" if no_wait else "all"
