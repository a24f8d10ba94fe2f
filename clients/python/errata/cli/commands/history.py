"""`errata log`, `show`, `diff`, `tags`: the changes; `check`, `replicas`, `models`, `memory`: how things are now."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from errata.cli.commands.question_list import compare_answers
from errata.cli.options import EDIT_ID, At, Time, read_version, restate
from errata.cli.render.commits import draw_commit, draw_diff, draw_log, draw_tags
from errata.cli.render.scope import draw_edit
from errata.cli.render.status import draw_check, draw_memory, draw_models, draw_replicas
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.errors import NotFound

LIMIT, BUDGET = 20, 100
Name = Annotated[str, typer.Argument(help="The name: a letter, then letters, digits and . _ + -")]


def log(
    session: Session,
    limit: Annotated[int, typer.Option(min=1)] = LIMIT,
    before: int | None = None,
    grep: str | None = None,
    author: str | None = None,
    since: Time = None,
) -> None:
    """List the versions, newest first.

    Args:
        limit: How many versions.
        before (VERSION): Only versions older than this one.
        grep (TEXT): Only versions whose message, questions, answers or facts have this text.
        author (NAME): Only versions that NAME made.
        since: Only versions made from this local time on: 2026-11-22 or '2026-11-22 14:30'.
    """
    call = session.calls.log(limit=limit, before=before, grep=grep, author=author, since=since)
    filters = restate(grep=grep, author=author, since=since)
    options = f"{restate(limit=limit if limit != LIMIT else None)} {filters}".strip()
    draw = partial(draw_log, limit=limit, options=options, is_filtered=bool(filters))
    session.run(call, "Reading the log", draw)


def show(
    session: Session, version: Annotated[str | None, typer.Argument()] = None, verbose: bool = False
) -> None:
    """Show one version: its edits, the edits that they replaced, and what changed besides.

    Args:
        version: The version to look at, its tag, or the id of an edit; the newest if left out.
    """
    if version is not None and EDIT_ID.fullmatch(version):
        try:
            session.run(session.calls.show_edit(version), f"Reading edit {version}", draw_edit)
            return
        except NotFound:  # a tag may look like an id
            if session.find_tag(version) is None:
                raise
    number = session.resolve_version(version)
    number = session.newest_version() if number is None else number
    draw = partial(draw_commit, verbose=verbose)
    session.run(session.calls.show(number), f"Reading version {number}", draw)


def diff(
    session: Session,
    older: Annotated[int, typer.Argument(parser=read_version)],
    newer: Annotated[int | None, typer.Argument(parser=read_version)] = None,
    verbose: bool = False,
) -> None:
    """Show which questions two versions answer differently.

    Args:
        older (FROM): The older version, or its tag.
        newer (TO): The newer one, or its tag; the newest there is if left out.
    """
    newer = session.newest_version() if newer is None else newer
    draw = partial(draw_diff, verbose=verbose)
    session.run(session.calls.diff(older, newer), f"Comparing {older} and {newer}", draw)


def tags(session: Session) -> None:
    """List the names that versions have."""
    session.run(session.calls.tags(), "Reading the tags", draw_tags)


def tag(session: Session, name: Name, version: Annotated[int | None, typer.Argument(min=0)] = None) -> None:
    """Give a version a name, or move the name to it.

    Args:
        version: The version; the newest there is if left out.
    """
    number = session.newest_version() if version is None else version
    call = session.calls.tag(name, number)
    session.run(call, f"Tagging version {number}", lambda tag: Text(f"{tag.name} is version {tag.version}."))


def untag(session: Session, name: Name) -> None:
    """Take a name away; its version stays."""
    words = "{0.name} is no tag any more; it was version {0.version}."
    session.run(session.calls.untag(name), "Taking the tag away", lambda tag: Text(words.format(tag)))


def check(
    session: Session,
    last: bool = False,
    list_replaced: Annotated[bool, typer.Option("--replaced")] = False,
    questions: Path | None = None,
    model: str | None = None,
    before: At = None,
    at: At = None,
    budget: Annotated[int, typer.Option(min=1, max=10_000)] = BUDGET,
) -> None:
    """Ask the questions of all edits, and the tests that came with them: does every correction still hold?

    With --questions it asks a list of your own before and after an edit, of a model behind edits, too.

    Args:
        last: Show the last check; do not ask again.
        list_replaced: List the questions, too, that a later edit was to answer.
        questions (FILE): Ask these, one a line, at two versions, and show what changes.
        model: With --questions, which system answers, or a model behind edits (team/NAME).
        before: With --questions, the earlier version; the one before the later if left out.
        at: With --questions, the later version; the newest if left out.
        budget: With --questions, how many requests of a model behind edits may be made; a longer list is refused.
    """
    if questions is not None:
        compare_answers(session, questions, model, before, at, budget)
        return
    call = session.calls.last_check(list_replaced) if last else session.calls.check(list_replaced)
    report = session.run(call, "Asking the questions of all edits", draw_check)
    faults = report.broken, report.overwritten, report.failing_tests, report.other_answers
    if any(faults) or report.damaged_imports:
        raise typer.Exit(Exit.BROKEN)


def replicas(session: Session) -> None:
    """Show which version each replica has."""
    session.run(session.calls.replicas(), "Asking the replicas", draw_replicas)


def models(session: Session) -> None:
    """List the models that answer."""
    session.run(session.calls.models(), "Asking for the models", draw_models)


def memory(session: Session) -> None:
    """Show the version and the checksum of each memory."""
    session.run(session.calls.memory(), "Reading the memory's state", draw_memory)
