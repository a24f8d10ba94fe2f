"""`errata change`: change one memory in a way that only it has; and `errata rules`, its words for rules about paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from errata.cli.commands.ask import show_answer
from errata.cli.options import At, Words, parse_setting
from errata.cli.render.graph import draw_rules
from errata.cli.session import Session
from errata.cli.write import Undo, Write, make
from errata.wire import ModelCard

PROGRAM, RULE = "rules/program", "rule"  # the memory of rules, and the kind of its changes
Rule = Annotated[
    str,
    typer.Argument(metavar="RULE", help="""The rule, such as 'forbid(E) <= hidden.relation(E,"spouse")'."""),
]
Label = Annotated[
    str | None, typer.Option(help="What people call the relation that a rule infers; a model reads it.")
]


def change(
    session: Session,
    memory: str,
    kind: str,
    field: list[str],
    question: str | None = None,
    answer: str | None = None,
    model: str | None = None,
    write: Write = Write(),
) -> None:
    """Change a memory in a way that only it has: `errata change MEMORY KIND NAME=VALUE`.

    Args:
        memory: The memory; `errata models` lists them.
        kind: A kind of change that the memory takes.
        field (NAME=VALUE...): The fields of this kind; a value may be JSON.
        question: Ask this to see whether it works, and keep it as a fact test.
        answer: What the question is to be answered with.
        model: Which system is asked; by default the first reader.
    """
    fields = dict(map(parse_setting, field))
    call = session.calls.change(
        memory, kind, fields, question=question, answer=answer, model=model, **write.of_edit
    )
    make(session, call, write, "Changing the memory", "1 change")


def add(session: Session, rule: Rule, label: Label = None, write: Write = Write()) -> None:
    """Add a rule that forbids, requires or infers edges; --dry-run shows which answers would change."""
    call = session.calls.change(PROGRAM, RULE, rule_fields(rule, label), **write.of_edit)
    make(session, call, write, "Adding the rule", "1 rule")


def rule_fields(rule: str, label: str | None) -> dict[str, str]:
    """Return the fields of a rule as the memory takes them."""
    return {"rule": rule} if label is None else {"rule": rule, "label": label}


def measure(
    session: Session,
    rule: Rule,
    label: Label = None,
    question: Annotated[str | None, typer.Option("--question", "-q")] = None,
    model: str | None = None,
) -> None:
    """Try a rule out and change nothing: what it says, and which answers would change.

    Args:
        question: Show what this would be answered with.
        model: Which system; by default the first that keeps to rules.
    """
    expected = None
    if question is not None:  # it is expected to keep its answer, so that the report compares both
        model = model or find_reader(session)
        answer = session.send(session.calls.ask(question, model=model), "Asking").value
        expected = answer.answer or answer.best or "no answer"
    test: dict[str, Any] = {"question": question, "answer": expected, "model": model}
    call = session.calls.change(PROGRAM, RULE, rule_fields(rule, label), **test, dry_run=True)
    make(session, call, Write(dry_run=True), "Trying it out", "this rule")


def find_reader(session: Session) -> str:
    """Return the first system that keeps to rules; raise BadParameter if no such system is served."""
    cards: Iterable[ModelCard] = session.send(session.calls.models(), "Looking for a system").value.data
    readers = (card.id for card in cards if PROGRAM in (memory.name for memory in card.memories))
    reader = next(readers, None)
    if reader is None:
        raise typer.BadParameter(
            f"no system here keeps to rules: start the service with one that reads {PROGRAM}"
        )
    return reader


def list_(session: Session, at: At = None) -> None:
    """List the valid rules, with the edits that made them."""
    session.run(session.calls.active_edits(PROGRAM, at), "Reading the rules", draw_rules)


def explain(session: Session, words: Words, at: At = None, model: str | None = None) -> None:
    """Show the path that answers a question, and the rules that forbid edges around it.

    Args:
        model: Which system; by default the first that keeps to rules.
    """
    model = model or find_reader(session)
    show_answer(session, session.calls.ask(" ".join(words), model=model, version=at, explain=True))


def rm(session: Session, edit: str, write: Undo = Write()) -> None:
    """Take a rule back; earlier versions keep it.

    Args:
        edit: The id of the edit; `errata rules list` shows it.
    """
    detail = session.send(session.calls.show_edit(edit), f"Reading edit {edit}").value
    if detail.edit.memory != PROGRAM:
        raise typer.BadParameter(f"edit {edit} is no rule: `errata rules list` shows the rules")
    summary = f"taking back rule {edit}" if write.dry_run else f"rule {edit} is taken back"
    call = session.calls.revert(edits=[edit], **write.of_commit)
    make(session, call, write, f"Taking back rule {edit}", summary)
