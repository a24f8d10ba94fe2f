"""`errata edit`: correct one answer, or all those of a file with a bar and an account of every line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from errata.bulk.options import TOGETHER, BatchOptions
from errata.bulk.run import FileRun
from errata.cli.errors import Exit
from errata.cli.options import DryRun, Expect, Key, Message, NoWait, Strict, how_to_edit
from errata.cli.progress import pace
from errata.cli.render.bulk import REPORT_SUFFIXES, draw_run, format_report, so_far
from errata.cli.render.receipt import draw_receipt
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.errors import ErrataError
from errata.wire import MAX_EDITS

FILES = "Many corrections in a file"


def edit(
    here: Session,
    question: Annotated[str | None, typer.Argument(help="The question that is answered wrongly.")] = None,
    answer: Annotated[str | None, typer.Argument(help="The right answer.")] = None,
    message: Message = "",
    also: Annotated[
        list[str] | None, typer.Option("--also", help="The same question in other words; may be repeated.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="How the rows are computed: gated, surgery, ...", show_default=False),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of the memory, such as lambda=0.07 for surgery; may be repeated. "
            "GET /v1/models lists them.",
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="Which system is corrected.")] = "nkb",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="A CSV, JSONL or EasyEdit JSON file. The same command again goes on where it stopped.",
            rich_help_panel=FILES,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write what happened to each line there, as .jsonl or .csv.",
            rich_help_panel=FILES,
        ),
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Leave out the lines that cannot be made; without it one of them stops all.",
            rich_help_panel=FILES,
        ),
    ] = False,
    together: Annotated[
        int,
        typer.Option(
            "--together",
            metavar="N",
            min=1,
            max=MAX_EDITS,
            help="Lines in one commit.",
            rich_help_panel=FILES,
        ),
    ] = TOGETHER,
    teach_rephrased: Annotated[
        bool,
        typer.Option(
            "--teach-rephrased",
            help="EasyEdit: teach the rephrased prompts instead of asking them at the end.",
            rich_help_panel=FILES,
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Make anew what this file made before and was taken back.", rich_help_panel=FILES
        ),
    ] = False,
) -> None:
    """Correct an answer: `errata edit QUESTION ANSWER`."""
    how = how_to_edit(message, no_wait, idempotency_key, dry_run, expect, strict)
    if method is not None:
        how["method"] = method
    if option:
        how["options"] = dict(map(_parse_option, option))
    if file is not None:
        _alone(question, also)
        cut = BatchOptions(
            model=model, together=together, skip_bad=skip_bad, teach_rephrased=teach_rephrased, again=again
        )
        edit_file(here, FileRun(file, **how, **cut), report)
    elif question is not None and answer is not None:
        call = here.calls.edit(question, answer, paraphrases=also or (), model=model, **how)
        reply = here.send(call, "Trying it out" if dry_run else "Editing")
        here.show(reply, lambda receipt: draw_receipt(receipt, plural(len(receipt.report.edits), "edit")))
    else:
        raise typer.BadParameter('give a question and its right answer: errata edit "QUESTION" "ANSWER"')


def _parse_option(text: str) -> tuple[str, Any]:
    """NAME=VALUE; a value that is JSON is that value, any other a text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is no option: write NAME=VALUE, such as lambda=0.07")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _alone(question: str | None, also: list[str] | None) -> None:
    if question is not None or also:
        raise typer.BadParameter("give a question and its answer, or --file, not both")


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
    if file.suffix.lower() not in REPORT_SUFFIXES:
        raise typer.BadParameter(f"{file}: the name of a report ends in {' or '.join(REPORT_SUFFIXES)}")
    try:
        file.open("ab").close()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}; nothing was done") from error


def _write(here: Session, run: FileRun, file: Path) -> None:
    try:
        file.write_text(format_report(run.lines, file.suffix.lower()), encoding="utf-8")
    except OSError as error:
        here.err.print(f"error: {file} cannot be written: {error.strerror}", soft_wrap=True)
        raise typer.Exit(Exit.UNWRITABLE) from error
    here.err.print(f"{file} says what happened to each of {plural(len(run.lines), 'line')}.", soft_wrap=True)
