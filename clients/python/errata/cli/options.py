"""The common options of commands that make changes, and how these options are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal, cast, get_args

import typer

from errata.calls.edit import CommitOptions, DocumentOptions, EditOptions

At = Annotated[int | None, typer.Option("--at", metavar="VERSION", min=0, help="As it was at this version.")]
AtOrTag = Annotated[
    str | None, typer.Option("--at", metavar="VERSION", help="As it was at this version, or this tag.")
]
AnswerAt = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Answer from this version, or this tag.")
]
Words = Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")]
Sheet = Annotated[str, typer.Option("--sheet", help="The sheet of a workbook that has several.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]


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
Message = Annotated[str, typer.Option("--message", "-m", help="Why; it stands in the log.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show internals, too: slots, margins, rows and milliseconds."),
]
TIMES = "2026-11-22 or '2026-11-22 14:30'"  # two spellings of a time, as help and errors show them


def parse_time(text: str) -> datetime:
    """Read a day, or a day with a time; without a time zone it is local."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time: write it as {TIMES}") from error


def parse_setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is JSON is that value, any other a text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is no setting: write NAME=VALUE, such as lambda=0.07")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@dataclass(frozen=True)
class Write:
    """The options that every command which makes a commit has, but for those that its parameter's type leaves out."""

    message: Message = ""
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Measure only; change nothing.")] = False
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse if it breaks or replaces an earlier edit, changes another answer or misspells a name.",
        ),
    ] = False
    expect: Annotated[
        int | None,
        typer.Option(
            "--expect", metavar="VERSION", help="Refuse if this is not the newest version any more."
        ),
    ] = None
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until all replicas have it.")] = (
        False
    )
    no_wait_report: Annotated[
        bool,
        typer.Option(
            "--no-wait-report", help="Do not wait until it is measured what else changes: show has it later."
        ),
    ] = False
    review: Review = None
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="Repeat a change that may have been made: it is made once."),
    ] = None
    verbose: Verbose = False

    def title(self, title: str) -> str:
        """Return the title of the call while a person waits."""
        return "Trying it out" if self.dry_run else title

    @property
    def of_document(self) -> DocumentOptions:
        wait: Literal["all", "none"] = "none" if self.no_wait else "all"
        return DocumentOptions(
            message=self.message,
            wait=wait,
            dry_run=self.dry_run,
            idempotency_key=self.idempotency_key,
            expected_version=self.expect,
        )

    @property
    def of_commit(self) -> CommitOptions:
        """The options of a commit that is measured; without waiting for the replicas it waits for no report either."""
        return CommitOptions(
            message=self.message,
            wait="none" if self.no_wait else "all",
            wait_report=not (self.no_wait or self.no_wait_report or self.dry_run),
            strict=self.strict,
            dry_run=self.dry_run,
            idempotency_key=self.idempotency_key,
        )

    @property
    def of_edit(self) -> EditOptions:
        return cast(EditOptions, {**self.of_commit, "expected_version": self.expect, "review": self.review})


# Beside the options, the names of those that the route of a command does not take
Undo = Annotated[Write, "expect", "review"]
Import = Annotated[Write, "review"]
DocumentWrite = Annotated[Write, "strict", "no_wait_report", "review"]


def left_out(kind: Any) -> set[str] | None:
    """Return the options that a type of `Write` leaves out; None for another type."""
    if kind is Write:
        return set()
    kinds = get_args(kind)
    return set(kinds[1:]) if kinds and kinds[0] is Write else None
