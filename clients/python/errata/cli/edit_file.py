"""`errata edit --file`: many corrections with a bar, an account of every line, and how to go on when it breaks off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from errata.cli.exits import Exit
from errata.cli.file_summary import draw_run, so_far
from errata.cli.line_report import ENDINGS, written
from errata.cli.pace import pace
from errata.cli.session import Session
from errata.cli.words import plural
from errata.corrections.run import FileRun
from errata.errors import ErrataError


def edit_file(here: Session, run: FileRun, report: Path | None) -> None:
    if report is not None:
        _check_writable(report)
    with _accounted(here, run, report):
        showing = pace(here.err)
        with showing:
            here.errata.edit_file(run, progress=showing.tell, hear=typer.echo if here.as_json else None)
    if not here.as_json:
        here.out.print(draw_run(run))


@contextmanager
def _accounted(here: Session, run: FileRun, report: Path | None) -> Iterator[None]:
    """However it ends, a person is told how far it came, and the report is written."""
    try:
        yield
    except (ErrataError, KeyboardInterrupt) as error:
        told = so_far(run)
        if not told and isinstance(error, KeyboardInterrupt) and not run.options.dry_run:
            told = f"Nothing of {run.file} is known to be made. The same command again makes what is missing."
        if told:
            here.err.print(told, soft_wrap=True)
        raise
    finally:
        if report is not None:
            _write(here, run, report)


def _check_writable(file: Path) -> None:
    """Before anything is made, which is not made again for the sake of a report."""
    if file.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"{file}: the name of a report ends in {' or '.join(ENDINGS)}")
    try:
        file.open("ab").close()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}; nothing was done") from error


def _write(here: Session, run: FileRun, file: Path) -> None:
    try:
        file.write_text(written(run.lines, file.suffix.lower()), encoding="utf-8")
    except OSError as error:
        here.err.print(f"error: {file} cannot be written: {error.strerror}", soft_wrap=True)
        raise typer.Exit(Exit.UNWRITABLE) from error
    here.err.print(f"{file} says what happened to each of {plural(len(run.lines), 'line')}.", soft_wrap=True)
