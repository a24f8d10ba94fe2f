"""`errata ask`: the answer alone on stdout, for scripts; `scope`, `why` and `senses`: what an answer rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from errata.cli.options import AnswerAt, At, AtOrTag, Words
from errata.cli.render.explanation import draw_explanation
from errata.cli.render.lookup import draw_senses
from errata.cli.render.text import make_grid, make_printable, milliseconds, one_line, percent, plural
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.request import Call, build
from errata.wire import Answer, Sampling

DEGRADED = {
    "ledger_unavailable": "the ledger cannot be reached, so this may not be the newest version",
}

MinVersion = Annotated[int | None, typer.Option(metavar="VERSION", help="Wait for at least this version.")]
Model = Annotated[
    str | None,
    typer.Option(help="Which system answers; without it the surest of all, or the service's choice."),
]
Graph = Annotated[Literal["graph", "none"], typer.Option(help="none answers without the knowledge graph.")]
Context = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT|@FILE", help="Answer from this text; may be repeated."),
]
Candidates = Annotated[list[str] | None, typer.Option(help="One of the possible answers; may be repeated.")]
Top = Annotated[int, typer.Option(min=1, max=10, help="Show this many possible answers.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say what the answer rests on.")]
FREE_TEXT = "How a text is drawn, for systems that write freely (it is given at any score)"
Temperature = Annotated[
    float | None,
    typer.Option(min=0, max=2, rich_help_panel=FREE_TEXT, help="0 takes the likeliest token of each place."),
]
TopP = Annotated[
    float | None,
    typer.Option(
        max=1,
        metavar="SHARE",
        rich_help_panel=FREE_TEXT,
        help="Draw from the likeliest tokens with this share.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, rich_help_panel=FREE_TEXT, help="Another seed gives another draw.")
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, rich_help_panel=FREE_TEXT, help="End after this many tokens.")
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT", rich_help_panel=FREE_TEXT, help="End before the first of these; may be repeated."
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Name the facts it rests on, or a guess that is not sure enough."),
]
QuotedQuestion = Annotated[str, typer.Argument(help="The question, in quotes.")]
AnsweringModel = Annotated[
    str | None, typer.Option(help="Which system answers; by default the one that the service chose.")
]
SenseModel = Annotated[
    str | None, typer.Option(help="Which system; by default the first whose words have senses.")
]


def ask(
    session: Session,
    words: Words,
    at: AnswerAt = None,
    min_version: MinVersion = None,
    model: Model = None,
    kg: Graph = "graph",
    context: Context = None,
    candidate: Candidates = None,
    top: Top = 1,
    explain: Explain = False,
    verbose: Verbose = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = None,
    max_tokens: MaxTokens = None,
    stop: Stop = None,
) -> None:
    """Ask a question."""
    question = " ".join(words)
    numbers = {"temperature": temperature, "top_p": top_p, "seed": seed, "max_tokens": max_tokens}
    sampling = {name: value for name, value in {**numbers, "stop": stop}.items() if value is not None}
    call = session.calls.ask(
        question,
        model=model,
        kg=kg,
        context=[read_context(argument) for argument in context] if context else None,
        candidates=candidate or None,
        version=None if at is None else session.resolve_version(at),
        min_version=min_version,
        top_k=top,
        explain=explain,
        sampling=build(Sampling, **sampling) if sampling else None,
    )
    show_answer(session, call, "Asking", verbose, names_model=model is None)


def show_answer(
    session: Session,
    call: Call[Answer],
    title: str = "Asking",
    verbose: bool = False,
    names_model: bool = False,
) -> None:
    """Ask, and show the answer; typer.Exit with UNSURE where the model declines."""
    reply = session.send(call, title)
    if session.as_json:
        typer.echo(reply.raw)
    else:
        print_answer(session, make_printable(reply.value), verbose, names_model)
    if reply.value.answer is None:
        raise typer.Exit(Exit.UNSURE)


def read_context(argument: str) -> str:
    """Return the text itself, or the content of the file that it names after an @."""
    if not argument.startswith("@"):
        return argument
    try:
        return Path(argument[1:]).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"{argument[1:]} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{argument[1:]} is not UTF-8: save it as UTF-8") from error


def print_answer(session: Session, answer: Answer, verbose: bool, names_model: bool) -> None:
    """Print an answer to stdout, and notes about it to stderr."""
    if answer.answer is not None:
        session.out.print(Text(answer.answer), soft_wrap=True)
    else:
        reason = (answer.reason_text or f"No answer: {answer.reason}").rstrip(".")
        session.err.print(Text(f"{reason}.", style="yellow"), soft_wrap=True)
    if answer.alternatives:
        table = make_grid(indent=2)
        table.add_column(justify="right", style="dim")
        for alternative in answer.alternatives:
            table.add_row(percent(alternative.score), alternative.answer)
        session.out.print(table)
    if answer.explanation is not None:
        session.out.print(draw_explanation(answer.explanation, answer.answer))
    session.err.print(Text(" · ".join(list_notes(answer, verbose, names_model)), style="dim"), soft_wrap=True)
    for fact in answer.facts if verbose else ():
        triple = " · ".join(map(one_line, (fact.subject, fact.label or fact.relation, fact.object)))
        origin = f" ({fact.edit})" if fact.edit else ""
        session.err.print(Text(f"rests on {triple}{origin}", style="dim"), soft_wrap=True)
    if answer.nearby_edit is not None:
        near = answer.nearby_edit
        line = f"near: {one_line(near.question)} ({percent(near.probability)}, edit {near.edit})"
        session.err.print(Text(line, style="dim"), soft_wrap=True)
    if answer.degraded is not None:
        why = DEGRADED.get(answer.degraded, answer.degraded)
        session.err.print(Text(f"warning: {why}", style="yellow"), soft_wrap=True)
    if answer.away:
        line = f"warning: {', '.join(answer.away)} did not answer and may know better: ask again in a moment"
        session.err.print(Text(line, style="yellow"), soft_wrap=True)


def list_notes(answer: Answer, verbose: bool, names_model: bool) -> list[str]:
    """List the version of an answer, how sure it is, and what it rests on."""
    notes = [f"version {answer.version}"]
    if answer.answer is not None:
        notes.append(f"{percent(answer.score)} sure")
    elif verbose and answer.best:
        notes.append(f"the best guess, {one_line(answer.best)}, is {percent(answer.score)} likely")
    if names_model:
        notes.append(f"by {answer.model}")
    if answer.edits:
        notes.append(f"{plural(len(answer.edits), 'edit')}: {', '.join(answer.edits)}")
    if answer.facts:
        notes.append(plural(len(answer.facts), "fact"))
    if answer.place is not None:
        part = f"text {answer.place.passage + 1}, " if answer.place.passage else ""
        notes.append(f"{part}characters {answer.place.start:,} to {answer.place.end:,}")
    if answer.truncated:
        notes.append("cut short")
    notes.append(milliseconds(answer.timings.total_ms))
    return notes


def scope(
    session: Session, question: QuotedQuestion, model: AnsweringModel = None, at: AtOrTag = None
) -> None:
    """Show the edits that a question resembles, and why each does or does not answer it."""
    from errata.cli.render.scope import draw_scope  # which needs the types of edits, as `ask` does not

    version = None if at is None else session.resolve_version(at)
    call = session.calls.scope(question, model=model, version=version)
    session.show(session.send(call, "Comparing with the edits"), draw_scope)


def why(session: Session, question: QuotedQuestion, model: AnsweringModel = None, at: AtOrTag = None) -> None:
    """Tell what answers a question: which edit or fact, who made it, when and why, and what would answer without it."""
    from errata.cli.render.scope import draw_why

    version = None if at is None else session.resolve_version(at)
    call = session.calls.why(question, model=model, version=version)
    session.show(session.send(call, "Asking"), draw_why)


def senses(
    session: Session,
    word: Annotated[str, typer.Argument(help="The word.")],
    sense: Annotated[int | None, typer.Option(min=0, help="Only this sense.")] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many words each sense is shown by.")] = 8,
    exact: Annotated[
        bool, typer.Option("--exact", help="The word as it is written, without a space before it.")
    ] = False,
    first_piece: Annotated[
        bool, typer.Option("--first-piece", help="Of a word of several pieces, the first one.")
    ] = False,
    model: SenseModel = None,
    at: At = None,
) -> None:
    """Show a word by its senses: the words that each favours, its strength, and its edits."""
    call = session.calls.senses(
        word, sense=sense, top_k=top, exact=exact, first_piece=first_piece, model=model, version=at
    )
    session.show(session.send(call, "Looking at the senses"), draw_senses)
