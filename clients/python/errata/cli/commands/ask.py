"""`errata ask`: the answer on stdout and nothing else there, so that it can be used in a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import JsonValue
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.commands.tags import version_of
from errata.cli.errors import Exit
from errata.cli.render.explanation import draw_explanation, draw_reading, reads_a_tree
from errata.cli.render.text import milliseconds, one_line, percent, plural, printable
from errata.cli.session import Session
from errata.wire import Answer, AnswerFact

UNSURE = {
    "unsure": "Not sure enough to answer",
    "no_entity": "No answer: the graph knows nothing that the question names",
    "no_graph": "No answer: without the graph there is nothing to read it from",
    "no_fact": "No answer: no fact of the graph answers the question",
}
DEGRADED = {
    "ledger_unavailable": "the ledger cannot be reached, so this may not be the newest version",
}


def ask(
    here: Session,
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")],
    at: Annotated[
        str | None, typer.Option("--at", metavar="VERSION", help="Answer from this version, or this tag.")
    ] = None,
    min_version: Annotated[
        int | None, typer.Option("--min-version", metavar="VERSION", help="Wait for at least this version.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="Which system answers.")] = "nkb",
    kg: Annotated[
        Literal["graph", "none"], typer.Option("--kg", help="none answers without the knowledge graph.")
    ] = "graph",
    context: Annotated[
        str | None, typer.Option("--context", metavar="TEXT|@FILE", help="Answer from this text.")
    ] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", help="One of the possible answers; may be repeated.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show this many possible answers.")] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the answer rests on.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name the facts it rests on.")] = False,
) -> None:
    """Ask a question."""
    question = " ".join(words)
    call = here.calls.ask(
        question,
        model=model,
        kg=kg,
        context=None if context is None else _text(context),
        candidates=candidate or None,
        version=None if at is None else version_of(here, at),
        min_version=min_version,
        top_k=top,
        explain=explain,
    )
    reply = here.send(call, "Asking")
    if here.as_json:
        typer.echo(reply.raw)
    else:
        _say(here, printable(reply.value), question, verbose)
    if reply.value.answer is None:
        raise typer.Exit(Exit.UNSURE)


def _text(given: str) -> str:
    """The text itself, or what is in the file that it names after an @."""
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"{given[1:]} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{given[1:]} is not UTF-8: save it as UTF-8") from error


def _say(here: Session, answer: Answer, question: str, verbose: bool) -> None:
    """What was asked for goes to stdout, what is said about it to stderr."""
    if answer.answer is not None:
        here.out.print(Text(answer.answer), soft_wrap=True)
    else:
        here.err.print(_unsure(answer), soft_wrap=True)
    if len(answer.alternatives) > 1:
        here.out.print(_alternatives(answer))
    if answer.explanation is not None:
        here.out.print(_explained(answer, answer.explanation, question))
    here.err.print(_note(answer), soft_wrap=True)
    for fact in answer.facts if verbose else ():
        here.err.print(_fact(fact), soft_wrap=True)
    if answer.degraded is not None:
        why = DEGRADED.get(answer.degraded, answer.degraded)
        here.err.print(Text(f"warning: {why}", style="yellow"), soft_wrap=True)


def _explained(answer: Answer, told: dict[str, JsonValue], question: str) -> RenderableType:
    """A system that reads the graph shows what it read; each other one explains itself in its own terms."""
    return draw_reading(told, question, answer.answer) if reads_a_tree(told) else draw_explanation(told)


def _unsure(answer: Answer) -> Text:
    why = UNSURE.get(answer.reason or "unsure", f"No answer: {answer.reason}")
    guess = f"; the best guess is {answer.best}" if answer.best else ""
    return Text.assemble((why, "yellow"), guess, ".")


def _fact(fact: AnswerFact) -> Text:
    triple = " · ".join(map(one_line, (fact.subject, fact.label or fact.relation, fact.object)))
    return Text(f"rests on {triple}" + (f" ({fact.edit})" if fact.edit else ""), style="dim")


def _note(answer: Answer) -> Text:
    parts = [f"version {answer.version}", f"{percent(answer.score)} sure"]
    if answer.edits:
        parts.append(f"{plural(len(answer.edits), 'edit')}: {', '.join(answer.edits)}")
    if answer.facts:
        parts.append(plural(len(answer.facts), "fact"))
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
