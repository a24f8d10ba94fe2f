"""`errata edit`: correct one answer, or all those of a file, in one commit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from errata.cli.corrections import BadFile, read_corrections
from errata.cli.options import DryRun, Expect, Key, Message, NoWait, Strict, how_to_edit
from errata.cli.receipt import draw_receipt
from errata.cli.session import Session
from errata.cli.words import plural
from errata.wire import EditItem, Method


def edit(
    here: Session,
    question: Annotated[str | None, typer.Argument(help="The question that is answered wrongly.")] = None,
    answer: Annotated[str | None, typer.Argument(help="The right answer.")] = None,
    message: Message = "",
    also: Annotated[
        list[str] | None, typer.Option("--also", help="The same question in other words; may be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A CSV or JSONL file with many corrections.")
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
) -> None:
    """Correct an answer: `errata edit QUESTION ANSWER`."""
    how = how_to_edit(message, no_wait, idempotency_key, dry_run, expect, strict)
    if method is not None:
        how["method"] = method
    if file is not None:
        _alone(question, also)
        call = here.calls.edit_many(_read(file, model), **how)
    elif question is not None and answer is not None:
        call = here.calls.edit(question, answer, paraphrases=also or (), model=model, **how)
    else:
        raise typer.BadParameter('give a question and its right answer: errata edit "QUESTION" "ANSWER"')
    reply = here.send(call, "Trying it out" if dry_run else "Editing")
    here.show(reply, lambda receipt: draw_receipt(receipt, plural(len(receipt.report.edits), "edit")))


def _alone(question: str | None, also: list[str] | None) -> None:
    if question is not None or also:
        raise typer.BadParameter("give a question and its answer, or --file, not both")


def _read(file: Path, model: str) -> list[EditItem]:
    try:
        return read_corrections(file, model)
    except BadFile as error:
        raise typer.BadParameter(str(error)) from error
