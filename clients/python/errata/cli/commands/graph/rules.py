"""`errata rules`: rules about the paths that a reader of the graph may walk, listed, tried, added and taken back."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from errata.cli.commands.ask import print_answer
from errata.cli.options import (
    AtOrTag,
    DryRun,
    Expect,
    Key,
    Message,
    NoWait,
    Strict,
    Verbose,
    commit_options,
    edit_options,
)
from errata.cli.receipts import require_success, show_receipt
from errata.cli.render.graph.rules import draw_proof, draw_removal, draw_rules, draw_trial
from errata.cli.render.text import make_printable
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.request import Call
from errata.wire import EditReceipt

PROGRAM, RULE = "rules/program", "rule"  # the memory, and the kind of its changes

Rule = Annotated[
    str,
    typer.Argument(metavar="RULE", help="""The rule, such as 'forbid(E) <= hidden.relation(E,"spouse")'."""),
]
Label = Annotated[
    str | None, typer.Option(help="What people call the relation that a rule infers; a model reads it.")
]
Model = Annotated[str | None, typer.Option(help="Which system; by default the first that keeps to rules.")]


def add(
    session: Session,
    rule: Rule,
    label: Label = None,
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Add a rule that forbids, requires or infers edges; --dry-run shows which answers would change."""
    options = edit_options(message, no_wait, idempotency_key, dry_run, expect, strict)
    call = session.calls.change(PROGRAM, RULE, rule_fields(rule, label), **options)
    reply = session.send(call, "Trying it out" if dry_run else "Adding the rule")
    show_receipt(session, reply, "1 rule", verbose)


def rule_fields(rule: str, label: str | None) -> dict[str, str]:
    """Return the fields of a rule as the memory takes them."""
    return {"rule": rule} if label is None else {"rule": rule, "label": label}


def measure(
    session: Session,
    rule: Rule,
    label: Label = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Show what this would be answered with.")
    ] = None,
    model: Model = None,
) -> None:
    """Try a rule out and change nothing: what it says, and which answers would change."""
    reply = session.send(make_trial(session, rule_fields(rule, label), question, model), "Trying it out")
    session.show(reply, draw_trial)


def make_trial(
    session: Session, fields: dict[str, str], question: str | None, model: str | None
) -> Call[EditReceipt]:
    """Return a dry run of a rule; a question is expected to keep its answer, so that the report compares both."""
    if question is None:
        return session.calls.change(PROGRAM, RULE, fields, model=model, dry_run=True)
    model = model or find_reader(session)
    answer = session.send(session.calls.ask(question, model=model), "Asking").value
    expected = answer.answer or answer.best or "no answer"
    return session.calls.change(
        PROGRAM, RULE, fields, question=question, answer=expected, model=model, dry_run=True
    )


def find_reader(session: Session) -> str:
    """Return the first system that keeps to rules.

    Raises:
        BadParameter: No such system is served.
    """
    cards = session.send(session.calls.models(), "Looking for a system").value.data
    readers = (card.id for card in cards if PROGRAM in (memory.name for memory in card.memories))
    reader = next(readers, None)
    if reader is None:
        raise typer.BadParameter(
            f"no system here keeps to rules: start the service with one that reads {PROGRAM}"
        )
    return reader


def list_(session: Session, at: AtOrTag = None) -> None:
    """List the valid rules, with the edits that made them."""
    version = session.newest_version() if at is None else session.resolve_version(at)
    ids: list[str] = []
    if version:
        diff = session.send(session.calls.diff(0, version), "Reading the rules").value
        ids = [c.edit for c in diff.memory_changes if (c.memory, c.change) == (PROGRAM, "added")]
    edits = [session.send(session.calls.show_edit(id), f"Reading edit {id}") for id in ids]
    if session.as_json:
        typer.echo(b"[" + b",".join(edit.raw for edit in edits) + b"]")
    else:
        session.out.print(draw_rules([make_printable(edit.value) for edit in edits], version))


def explain(
    session: Session,
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")],
    at: AtOrTag = None,
    model: Model = None,
) -> None:
    """Show the path that answers a question, and the rules that forbid edges around it."""
    question = " ".join(words)
    version = None if at is None else session.resolve_version(at)
    call = session.calls.ask(question, model=model or find_reader(session), version=version, explain=True)
    reply = session.send(call, "Asking")
    if session.as_json:
        typer.echo(reply.raw)
    else:
        answer = make_printable(reply.value)
        print_answer(session, answer.model_copy(update={"explanation": None}), verbose=False)
        session.out.print(draw_proof(answer))
    if reply.value.answer is None:
        raise typer.Exit(Exit.UNSURE)


def rm(
    session: Session,
    edit: Annotated[str, typer.Argument(help="The id of the edit; `errata rules list` shows it.")],
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Take a rule back; earlier versions keep it."""
    version = find_commit(session, edit)
    call = session.calls.revert(version, **commit_options(message, no_wait, idempotency_key, strict, dry_run))
    reply = session.send(call, f"Taking back rule {edit}")
    session.show(reply, partial(draw_removal, edit=edit))
    require_success(reply.value.report)


def find_commit(session: Session, edit: str) -> int:
    """Return the version that made a rule and nothing else.

    Raises:
        BadParameter: The edit is no rule, or its commit made other edits, too.
    """
    detail = session.send(session.calls.show_edit(edit), f"Reading edit {edit}").value
    if detail.edit.memory != PROGRAM:
        raise typer.BadParameter(f"edit {edit} is no rule: `errata rules list` shows the rules")
    n_edits = len(session.send(session.calls.show(detail.version), "Reading its version").value.edits)
    if n_edits > 1:
        raise typer.BadParameter(
            f"version {detail.version} made {n_edits:,} edits: errata revert {detail.version} takes all of them back"
        )
    return detail.version
