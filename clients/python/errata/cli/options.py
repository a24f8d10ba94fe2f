"""Types of options that several commands have."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date, datetime
from typing import Annotated, Any

import typer

EDIT_ID = re.compile(r"[0-9a-f]{12}")
TIMES = "2026-11-22 or '2026-11-22 14:30'"  # two spellings of a time, as help and errors show them
Words = Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")]


def read_version(text: str) -> str:
    """Return a version or a tag, which the command's session resolves."""
    return text


def parse_day(text: str) -> date:
    """Read a day."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no day: write it as 2027-06-01") from error


def parse_time(text: str) -> datetime:
    """Read a day, or a day with a time; without a time zone it is local."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time: write it as {TIMES}") from error


def restate(**options: object) -> str:
    """Return those of the options that are given as they are typed, for a command that goes on with them."""
    words: list[str] = []
    for name, value in options.items():
        if value is not None and value is not False:
            text = value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
            words += [f"--{name}"] if value is True else [f"--{name}", text]
    return shlex.join(words)


def parse_setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is JSON is that value, any other a text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is no setting: write NAME=VALUE, such as lambda=0.07")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


At = Annotated[
    int | None,
    typer.Option(parser=read_version, metavar="VERSION", help="As it was at this version, or this tag."),
]
Time = Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME")]
Review = Annotated[
    date | None,
    typer.Option(
        parser=parse_day,
        metavar="DAY",
        help="The day to look at it again, such as 2027-06-01: `errata reviews` lists it then.",
    ),
]
