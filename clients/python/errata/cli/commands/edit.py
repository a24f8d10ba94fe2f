"""`errata edit`: one answer, or all those of a file; `revert`, `rollback`: take back, by a new commit."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from errata.bulk.options import BATCH_SIZE, BatchOptions
from errata.bulk.run import FileRun
from errata.calls.edit import EditOptions
from errata.cli.commands.gaps import close_gap, find_gap
from errata.cli.files import check_writable
from errata.cli.options import EDIT_ID, parse_setting, read_version
from errata.cli.progress import ProgressDisplay
from errata.cli.render.bulk import describe_progress, draw_run
from errata.cli.render.bulk_report import REPORT_SUFFIXES, format_report
from errata.cli.render.escaping import escape
from errata.cli.render.receipt import MAX_SHOWN, draw_head, draw_receipt
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.cli.write import Undo, Write, make, require_success, show_receipt
from errata.errors import ErrataError, NothingToDo
from errata.wire import MAX_EDITS, EditReceipt, Report

EDIT_ID_CHARS = 12
RANGE = re.compile(r"(\d{1,16})(?:-(\d{1,16}))?")
MAX_REVERTS = 1_000  # commits that one command takes back
NOT_BOTH = "give a question and its answer, or --file, not both"
NO_QUESTION = 'give a question and its right answer: errata edit "QUESTION" "ANSWER"'

file_option = partial(typer.Option, rich_help_panel="Many corrections in a file")
Name = Annotated[str | None, typer.Argument()]


def edit(
    session: Session,
    question: Name = None,
    answer: Name = None,
    also: list[str] | None = None,
    not_: list[str] | None = None,
    replaces: list[str] | None = None,
    test: list[str] | None = None,
    method: str | None = None,
    option: list[str] | None = None,
    model: str | None = None,
    write: Write = Write(),
    file: Annotated[Path | None, file_option()] = None,
    report: Annotated[Path | None, file_option()] = None,
    skip_bad: Annotated[bool, file_option()] = False,
    batch_size: Annotated[int, file_option(min=1, max=MAX_EDITS)] = BATCH_SIZE,
    again: Annotated[bool, file_option()] = False,
    sheet: Annotated[str, file_option()] = "",
) -> None:
    """Correct an answer: `errata edit QUESTION ANSWER`.

    Args:
        question: The question that is answered wrongly, or its line in `errata gaps`.
        answer: The right answer.
        also: The same question in other words; may be repeated.
        not_: A question that resembles it and asks for something else; may be repeated.
        replaces (VERSION): An earlier edit whose place this one takes, by its version or its id; may be repeated.
        test (QUESTION[=ANSWER]): A question that `errata check` asks as well: what follows from the edit, or, without
            an answer, what has to stay as it is; may be repeated.
        method: How the rows are computed: gated, surgery, ...
        option (NAME=VALUE): An option of the memory, such as lambda=0.07 for surgery; may be repeated. GET /v1/models
            lists them.
        model: Which system is corrected; by default the one the service chose.
        file: A table (.csv, .tsv, .xlsx), JSON lines or EasyEdit's JSON. The same command again goes on where it
            stopped.
        report (FILE): Write what happened to each line there, as .jsonl or .csv.
        skip_bad: Leave out the lines that cannot be made; without it one of them stops all.
        batch_size (N): Lines in one commit.
        again: Make anew what this file made before and was taken back.
        sheet: The sheet of a workbook that has several.
    """
    options = write.of_edit | EditOptions(method=method, options=dict(map(parse_setting, option or ())))
    details = {
        "paraphrases": also or (),
        "counterexamples": not_ or (),
        "replaces": [parse_edit(name) for name in replaces or ()],
        "tests": dict(map(parse_test, test or ())),
    }
    if file is not None:
        if question is not None or any(details.values()):
            raise typer.BadParameter(NOT_BOTH)
        batches = BatchOptions(
            model=model, batch_size=batch_size, skip_bad=skip_bad, again=again, sheet=sheet
        )
        edit_file(session, FileRun(file, **options, **batches), report, write.verbose)
        return
    if question is None or answer is None:
        raise typer.BadParameter(NO_QUESTION)
    edit_answer(session, question, answer, model, details, options, write)


def edit_answer(
    session: Session,
    question: str,
    answer: str,
    model: str | None,
    details: dict[str, Any],
    options: EditOptions,
    write: Write,
) -> None:
    """Correct the answer to one question, or to a line of the worklist, which is then closed."""
    gap = find_gap(session, question)
    if gap is not None:
        gap_model = None if gap.model == "auto" else gap.model  # where all were asked, the service chooses
        question, model = gap.question, model or gap_model
    call = session.calls.edit(question, answer, **details, model=model, **options)
    reply = session.send(call, write.title("Editing"))
    if gap is not None and not write.dry_run:
        close_gap(session, gap)
    show_receipt(session, reply, "1 edit", write.verbose)


def parse_edit(name: str) -> int | str:
    """Read the name of an edit: a version, or an id of twelve letters and digits."""
    return int(name) if name.isdecimal() and len(name) < EDIT_ID_CHARS else name


def parse_test(text: str) -> tuple[str, str | None]:
    """Read QUESTION=ANSWER, or a question without an answer; the sign of equality behind a question mark divides."""
    question, mark, expected = text.rpartition("?=")
    if mark:
        return f"{question}?", expected
    question, equals, expected = text.rpartition("=")
    return (question, expected) if equals and not text.rstrip().endswith("?") else (text, None)


def edit_file(session: Session, run: FileRun, report: Path | None, verbose: bool = False) -> None:
    """Make all corrections of a file. However it ends, the report is written, and stderr says how far it came."""
    if report is not None:
        if report.suffix.lower() not in REPORT_SUFFIXES:
            raise typer.BadParameter(f"{report}: the name of a report ends in {' or '.join(REPORT_SUFFIXES)}")
        check_writable(report)  # before the edits, which are not made again for the sake of a report
    try:
        with ProgressDisplay(session.err) as display:
            on_reply = typer.echo if session.as_json else None
            session.errata.edit_file(run, progress=display.update, on_reply=on_reply)
    except (ErrataError, KeyboardInterrupt) as error:
        progress = describe_progress(run)
        if not progress and isinstance(error, KeyboardInterrupt) and not run.options["dry_run"]:
            progress = (
                f"Nothing of {run.file} is known to be made. The same command again makes what is missing."
            )
        if progress:
            session.err.print(progress, soft_wrap=True)
        raise
    finally:
        if report is not None:
            session.write_file(report, format_report(run.lines, report.suffix.lower()))
            count = plural(len(run.lines), "line")
            session.err.print(f"{report} says what happened to each of {count}.", soft_wrap=True)
    if not session.as_json:
        session.out.print(draw_run(run, verbose))
    require_success(*(receipt.report for receipt in run.receipts))


def revert(session: Session, versions: list[str], write: Undo = Write()) -> None:
    """Take commits back, each in a new commit, or single edits; what came after them stays.

    Args:
        versions (VERSION...): The commit to take back, however old; several, or 5-9. An edit's id takes back that edit
            alone.
    """
    ids = list(dict.fromkeys(name for name in versions if EDIT_ID.fullmatch(name)))
    targets: list[str | int] = [*ids, *parse_versions([name for name in versions if name not in ids])]
    draw: Callable[..., RenderableType] = partial(draw_receipt, verbose=write.verbose)
    if len(targets) > MAX_SHOWN:
        draw = draw_first_line
    reports: list[Report] = []
    for count, target in enumerate(targets, start=1):
        version, edits = (target, []) if isinstance(target, int) else (None, [target])
        subject = f"edit {target}" if edits else f"version {target}"
        title, options = f"Taking back {subject}", write.of_commit
        if len(targets) > 1:
            title = f"{title} ({count} of {len(targets)})"
            options["idempotency_key"] = write.idempotency_key and f"{write.idempotency_key}-{target}"
        try:
            reply = session.send(session.calls.revert(version, edits=edits, **options), title)
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
    target: Annotated[int | None, typer.Argument(parser=read_version)] = None,
    to: Annotated[int | None, typer.Option(parser=read_version)] = None,
    write: Undo = Write(),
) -> None:
    """Make an old version the current one again; 0 is the base, before any edit.

    Args:
        target ([VERSION]): The version to go back to, or its tag.
        to (VERSION): The same, as an option.
    """
    version = to if target is None else target
    if version is None or None not in (to, target):
        raise typer.BadParameter("give one version to go back to: errata rollback 56, or --to 56")
    call, title = session.calls.rollback(version, **write.of_commit), f"Going back to version {version}"
    summary = (
        f"going back to version {version}" if write.dry_run else f"everything is as at version {version}"
    )
    make(session, call, write, title, summary)
