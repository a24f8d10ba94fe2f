"""`errata ask`: the answer on stdout and nothing else there, so that it can be used in a script."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from errata.cli.exits import Exit
from errata.cli.explanation import draw_explanation
from errata.cli.session import Session
from errata.cli.words import milliseconds, percent, plural, printable
from errata.wire import Answer

DEGRADED = {
    "ledger_unavailable": "the ledger cannot be reached, so this may not be the newest version",
}


def ask(
    here: Session,
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")],
    at: Annotated[
        int | None, typer.Option("--at", metavar="VERSION", help="Answer from this version.")
    ] = None,
    min_version: Annotated[
        int | None, typer.Option("--min-version", metavar="VERSION", help="Wait for at least this version.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="Which system answers.")] = "nkb",
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show this many possible answers.")] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the answer rests on.")] = False,
) -> None:
    """Ask a question."""
    call = here.calls.ask(
        " ".join(words), model=model, version=at, min_version=min_version, top_k=top, explain=explain
    )
    reply = here.send(call, "Asking")
    if here.as_json:
        typer.echo(reply.raw)
    else:
        _say(here, printable(reply.value))
    if reply.value.answer is None:
        raise typer.Exit(Exit.UNSURE)


def _say(here: Session, answer: Answer) -> None:
    """What was asked for goes to stdout, what is said about it to stderr."""
    if answer.answer is not None:
        here.out.print(Text(answer.answer), soft_wrap=True)
    else:
        here.err.print(_unsure(answer), soft_wrap=True)
    if len(answer.alternatives) > 1:
        here.out.print(_alternatives(answer))
    if answer.explanation is not None:
        here.out.print(draw_explanation(answer.explanation))
    here.err.print(_note(answer), soft_wrap=True)
    if answer.degraded is not None:
        why = DEGRADED.get(answer.degraded, answer.degraded)
        here.err.print(Text(f"warning: {why}", style="yellow"), soft_wrap=True)


def _unsure(answer: Answer) -> Text:
    why = "Not sure enough to answer" if answer.reason in (None, "unsure") else f"No answer: {answer.reason}"
    return Text.assemble((why, "yellow"), f"; the best guess is {answer.best}.")


def _note(answer: Answer) -> Text:
    parts = [f"version {answer.version}", f"{percent(answer.score)} sure"]
    if answer.edits:
        parts.append(f"{plural(len(answer.edits), 'edit')}: {', '.join(answer.edits)}")
    if answer.truncated:
        parts.append("cut short")
    return Text(" · ".join([*parts, milliseconds(answer.timings.total_ms)]), style="dim")


def _alternatives(answer: Answer) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column()
    for one in answer.alternatives:
        table.add_row(percent(one.score), one.answer)
    return table
