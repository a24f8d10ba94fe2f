"""`errata edit`: correct one answer, or all those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from errata.cli.edit_file import edit_file
from errata.cli.options import DryRun, Expect, Key, Message, NoWait, Strict, how_to_edit
from errata.cli.receipt import draw_receipt
from errata.cli.session import Session
from errata.cli.words import plural
from errata.corrections.options import TOGETHER, HowToCut
from errata.corrections.run import FileRun
from errata.wire import MAX_EDITS, Method

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
        Method | None, typer.Option("--method", help="How the rows are computed.", show_default=False)
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
    if file is not None:
        _alone(question, also)
        cut = HowToCut(
            model=model, together=together, skip_bad=skip_bad, teach_rephrased=teach_rephrased, again=again
        )
        edit_file(here, FileRun(file, **how, **cut), report)
    elif question is not None and answer is not None:
        call = here.calls.edit(question, answer, paraphrases=also or (), model=model, **how)
        reply = here.send(call, "Trying it out" if dry_run else "Editing")
        here.show(reply, lambda receipt: draw_receipt(receipt, plural(len(receipt.report.edits), "edit")))
    else:
        raise typer.BadParameter('give a question and its right answer: errata edit "QUESTION" "ANSWER"')


def _alone(question: str | None, also: list[str] | None) -> None:
    if question is not None or also:
        raise typer.BadParameter("give a question and its answer, or --file, not both")
