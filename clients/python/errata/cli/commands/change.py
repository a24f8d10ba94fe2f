"""`errata change`: change one memory in a way that only it has, such as a rule or the senses of a word."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import (
    DryRun,
    Expect,
    Key,
    Message,
    NoWait,
    Review,
    Strict,
    Verbose,
    edit_options,
    parse_setting,
)
from errata.cli.receipts import show_receipt
from errata.cli.session import Session


def change(
    session: Session,
    memory: Annotated[str, typer.Argument(help="The memory; `errata models` lists them.")],
    kind: Annotated[str, typer.Argument(help="What is changed: a kind that the memory takes.")],
    field: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE...", help="The fields of this kind; a value may be JSON."),
    ],
    question: Annotated[
        str | None, typer.Option(help="Ask this to see whether it works, and keep it as a fact test.")
    ] = None,
    answer: Annotated[str | None, typer.Option(help="What the question is to be answered with.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Which system is asked; by default the first reader.")
    ] = None,
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    review: Review = None,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Change a memory in a way that only it has: `errata change MEMORY KIND NAME=VALUE`."""
    options = edit_options(message, no_wait, idempotency_key, dry_run, expect, strict, review=review)
    fields = dict(map(parse_setting, field))
    call = session.calls.change(
        memory, kind, fields, question=question, answer=answer, model=model, **options
    )
    reply = session.send(call, "Trying it out" if dry_run else "Changing the memory")
    show_receipt(session, reply, "1 change", verbose)
