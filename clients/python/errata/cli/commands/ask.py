"""`errata ask`: the answer alone on stdout, for scripts; `scope`, `why` and `senses`: what an answer rests on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from errata.cli.files import read_text
from errata.cli.options import At, Words
from errata.cli.render.drawing import draw_lines, make_table
from errata.cli.render.escaping import make_printable, one_line
from errata.cli.render.explanation import draw_explanation
from errata.cli.render.graph import draw_senses
from errata.cli.render.text import milliseconds, percent, plural
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.request import Call, build
from errata.wire import Answer, AnswerFact, Sampling

DEGRADED = {
    "ledger_unavailable": "the ledger cannot be reached, so this may not be the newest version",
}

FREE_TEXT = "How a text is drawn, for systems that write freely (it is given at any score)"
draw_option = partial(typer.Option, rich_help_panel=FREE_TEXT)


def ask(
    session: Session,
    words: Words,
    at: At = None,
    min_version: int | None = None,
    as_of: str | None = None,
    model: str | None = None,
    kg: Literal["graph", "none"] = "graph",
    context: list[str] | None = None,
    candidate: list[str] | None = None,
    top: Annotated[int, typer.Option(min=1, max=10)] = 1,
    explain: bool = False,
    verbose: bool = False,
    temperature: Annotated[float | None, draw_option(min=0, max=2)] = None,
    top_p: Annotated[float | None, draw_option(max=1)] = None,
    seed: Annotated[int | None, draw_option(min=0)] = None,
    max_tokens: Annotated[int | None, draw_option(min=1)] = None,
    stop: Annotated[list[str] | None, draw_option()] = None,
) -> None:
    """Ask a question.

    Args:
        at: Answer from this version, or this tag.
        min_version (VERSION): Wait for at least this version.
        as_of (DAY): Answer with the facts that are current on this day, as 2026-11-28; today without it.
        model: Which system answers, or a model behind edits (team/NAME); without it the surest of all, or the
            service's choice.
        kg: none answers without the knowledge graph.
        context (TEXT|@FILE): Answer from this text; may be repeated.
        candidate: One of the possible answers; may be repeated.
        top: Show this many possible answers.
        explain: Say what the answer rests on.
        verbose: Name the facts it rests on, or a guess that is not sure enough.
        temperature: 0 takes the likeliest token of each place.
        top_p (SHARE): Draw from the likeliest tokens with this share.
        seed: Another seed gives another draw.
        max_tokens: End after this many tokens.
        stop (TEXT): End before the first of these; may be repeated.
    """
    question = " ".join(words)
    numbers = {"temperature": temperature, "top_p": top_p, "seed": seed, "max_tokens": max_tokens}
    sampling = {name: value for name, value in {**numbers, "stop": stop}.items() if value is not None}
    call = session.calls.ask(
        question,
        model=model,
        kg=kg,
        context=[read_context(argument) for argument in context] if context else None,
        candidates=candidate or None,
        version=at,
        min_version=min_version,
        as_of=as_of,
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
    return read_text(Path(argument[1:]))


def print_answer(session: Session, answer: Answer, verbose: bool, names_model: bool) -> None:
    """Print an answer to stdout, and notes about it to stderr."""
    if answer.answer is not None:
        session.out.print(Text(answer.answer), soft_wrap=True)
    else:
        reason = (answer.reason_text or f"No answer: {answer.reason}").rstrip(".")
        session.err.print(Text(f"{reason}.", style="yellow"), soft_wrap=True)
    if answer.alternatives:
        rows = [(percent(other.score), other.answer) for other in answer.alternatives]
        session.out.print(make_table(">:dim", "", rows=rows, indent=2))
    if answer.explanation is not None:
        session.out.print(draw_explanation(answer.explanation, answer.answer))
    for line in draw_notes(answer, verbose, names_model):
        session.err.print(line, soft_wrap=True)


def draw_notes(answer: Answer, verbose: bool, names_model: bool) -> list[Text]:
    """Draw what an answer rests on, the edit that is near, and what it lacks."""
    near, problem, models = answer.nearby_edit, answer.degraded or "", ", ".join(answer.away)
    likeness = f" ({percent(near.probability)}, edit {near.edit})" if near else ""
    away = f"warning: {models} did not answer and may know better: ask again in a moment"
    return draw_lines(
        (" · ".join(list_notes(answer, verbose, names_model)), "dim"),
        *((f"rests on {name_fact(fact)}", "dim") for fact in answer.facts if verbose),
        (f"near: {one_line(near.question)}{likeness}" if near else "", "dim"),
        (problem and f"warning: {DEGRADED.get(problem, problem)}", "yellow"),
        (models and away, "yellow"),
    )


def name_fact(fact: AnswerFact) -> str:
    """Return a fact in one line, with its edit if one wrote it."""
    triple = " · ".join(map(one_line, (fact.subject, fact.label or fact.relation, fact.object)))
    return f"{triple} ({fact.edit})" if fact.edit else triple


def list_notes(answer: Answer, verbose: bool, names_model: bool) -> list[str]:
    """List the version of an answer, how sure it is, and what it rests on."""
    place, certainty = answer.place, ""
    if answer.upstream:
        certainty = f"by the model of {answer.upstream}, no edit"
    elif answer.answer is not None:
        certainty = f"{percent(answer.score)} sure"
    elif verbose and answer.best:
        certainty = f"the best guess, {one_line(answer.best)}, is {percent(answer.score)} likely"
    passage = f"text {place.passage + 1}, " if place and place.passage else ""
    notes = [
        f"version {answer.version}",
        certainty,
        f"by {answer.model}" if names_model else "",
        f"{plural(len(answer.edits), 'edit')}: {', '.join(answer.edits)}" if answer.edits else "",
        plural(len(answer.facts), "fact") if answer.facts else "",
        *(f"no label is known of {fact.object_id}" for fact in answer.facts if fact.unlabelled),
        f"{passage}characters {place.start:,} to {place.end:,}" if place else "",
        "cut short" if answer.truncated else "",
        milliseconds(answer.timings.total_ms),
    ]
    return [note for note in notes if note]


def scope(session: Session, question: str, model: str | None = None, at: At = None) -> None:
    """Show the edits that a question resembles, and why each does or does not answer it.

    Args:
        question: The question, in quotes.
        model: Which system answers; by default the one that the service chose.
    """
    from errata.cli.render.scope import draw_scope  # which needs the types of edits, as `ask` does not

    call = session.calls.scope(question, model=model, version=at)
    session.run(call, "Comparing with the edits", draw_scope)


def why(
    session: Session, question: str, model: str | None = None, at: At = None, as_of: str | None = None
) -> None:
    """Tell what answers a question: which edit or fact, who made it, when and why, and what would answer without it.

    Args:
        question: The question, in quotes.
        model: Which system answers; by default the one that the service chose.
        as_of (DAY): Answer with the facts that are current on this day, as 2026-11-28; today without it.
    """
    from errata.cli.render.scope import draw_why

    session.run(session.calls.why(question, model=model, version=at, as_of=as_of), "Asking", draw_why)


def senses(
    session: Session,
    word: str,
    sense: Annotated[int | None, typer.Option(min=0)] = None,
    top: Annotated[int, typer.Option(min=1, max=100)] = 8,
    exact: bool = False,
    first_piece: bool = False,
    model: str | None = None,
    at: At = None,
) -> None:
    """Show a word by its senses: the words that each favours, its strength, and its edits.

    Args:
        word: The word.
        sense: Only this sense.
        top: How many words each sense is shown by.
        exact: The word as it is written, without a space before it.
        first_piece: Of a word of several pieces, the first one.
        model: Which system; by default the first whose words have senses.
    """
    call = session.calls.senses(
        word, sense=sense, top_k=top, exact=exact, first_piece=first_piece, model=model, version=at
    )
    session.run(call, "Looking at the senses", draw_senses)
