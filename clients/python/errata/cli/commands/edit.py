"""`errata edit`: correct one answer, or all those of a file with a bar and an account of every line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from errata.bulk.line import BATCH_SIZE, BatchOptions
from errata.bulk.run import FileRun
from errata.calls.edit import EditOptions
from errata.cli.commands.review import asked_model, close_gap, find_gap
from errata.cli.options import Write, parse_setting
from errata.cli.progress import ProgressDisplay
from errata.cli.receipts import require_success, show_receipt
from errata.cli.render.bulk import REPORT_SUFFIXES, describe_progress, draw_run, format_report
from errata.cli.render.text import plural
from errata.cli.session import Session, check_writable
from errata.errors import ErrataError
from errata.wire import MAX_EDITS

EDIT_ID_CHARS = 12
NOT_BOTH = "give a question and its answer, or --file, not both"
NO_QUESTION = 'give a question and its right answer: errata edit "QUESTION" "ANSWER"'

file_option = partial(typer.Option, rich_help_panel="Many corrections in a file")

Question = Annotated[
    str | None,
    typer.Argument(help="The question that is answered wrongly, or its line in `errata gaps`."),
]
Answer = Annotated[str | None, typer.Argument(help="The right answer.")]
Also = Annotated[list[str] | None, typer.Option(help="The same question in other words; may be repeated.")]
Against = Annotated[
    list[str] | None,
    typer.Option("--not", help="A question that resembles it and asks for something else; may be repeated."),
]
Replaces = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VERSION",
        help="An earlier edit whose place this one takes, by its version or its id; may be repeated.",
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="QUESTION[=ANSWER]",
        help="A question that `errata check` asks as well: what follows from the edit, or, "
        "without an answer, what has to stay as it is; may be repeated.",
    ),
]
Method = Annotated[
    str | None, typer.Option(help="How the rows are computed: gated, surgery, ...", show_default=False)
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="An option of the memory, such as lambda=0.07 for surgery; may be repeated. "
        "GET /v1/models lists them.",
    ),
]
Model = Annotated[
    str | None, typer.Option(help="Which system is corrected; by default the one the service chose.")
]
File = Annotated[
    Path | None,
    file_option(
        "--file",
        "-f",
        help="A table (.csv, .tsv, .xlsx), JSON lines or EasyEdit's JSON. "
        "The same command again goes on where it stopped.",
    ),
]
Sheet = Annotated[str, file_option("--sheet", help="The sheet of a workbook that has several.")]
ReportFile = Annotated[
    Path | None,
    file_option(metavar="FILE", help="Write what happened to each line there, as .jsonl or .csv."),
]
SkipBad = Annotated[
    bool,
    file_option(
        "--skip-bad", help="Leave out the lines that cannot be made; without it one of them stops all."
    ),
]
BatchSize = Annotated[int, file_option(metavar="N", min=1, max=MAX_EDITS, help="Lines in one commit.")]
Again = Annotated[
    bool, file_option("--again", help="Make anew what this file made before and was taken back.")
]


def edit(
    session: Session,
    question: Question = None,
    answer: Answer = None,
    also: Also = None,
    against: Against = None,
    replaces: Replaces = None,
    test: Tests = None,
    method: Method = None,
    option: Setting = None,
    model: Model = None,
    write: Write = Write(),
    file: File = None,
    report: ReportFile = None,
    skip_bad: SkipBad = False,
    batch_size: BatchSize = BATCH_SIZE,
    again: Again = False,
    sheet: Sheet = "",
) -> None:
    """Correct an answer: `errata edit QUESTION ANSWER`."""
    options = write.of_edit | EditOptions(method=method, options=dict(map(parse_setting, option or ())))
    details = read_details(also, against, replaces, test)
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
        question, model = gap.question, model or asked_model(gap)
    call = session.calls.edit(question, answer, **details, model=model, **options)
    reply = session.send(call, write.title("Editing"))
    if gap is not None and not write.dry_run:
        close_gap(session, gap)
    show_receipt(session, reply, "1 edit", write.verbose)


def read_details(
    also: list[str] | None, against: list[str] | None, replaces: list[str] | None, test: list[str] | None
) -> dict[str, Any]:
    """Return the arguments of `calls.edit` that the options of one edit give."""
    return {
        "paraphrases": also or (),
        "counterexamples": against or (),
        "replaces": [parse_edit(name) for name in replaces or ()],
        "tests": dict(map(parse_test, test or ())),
    }


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
        if not progress and isinstance(error, KeyboardInterrupt) and not run.settings.dry_run:
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
