"""`errata revert` and `errata rollback`: take something back, by a new commit; history is never rewritten."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import Key, Message, NoWait, how_to_commit
from errata.cli.receipt import draw_receipt
from errata.cli.session import Session


def revert(
    here: Session,
    version: Annotated[int, typer.Argument(min=1, help="The commit to take back, however old.")],
    message: Message = "",
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Take one commit back; what came after it stays."""
    call = here.calls.revert(version, **how_to_commit(message, no_wait, idempotency_key))
    done = f"version {version} is taken back"
    here.show(here.send(call, f"Taking back version {version}"), lambda receipt: draw_receipt(receipt, done))


def rollback(
    here: Session,
    to: Annotated[int, typer.Option("--to", metavar="VERSION", min=0, help="The version to go back to.")],
    message: Message = "",
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Make an old version the current one again; 0 is the base, before any edit."""
    call = here.calls.rollback(to, **how_to_commit(message, no_wait, idempotency_key))
    done = f"everything is as at version {to}"
    here.show(here.send(call, f"Going back to version {to}"), lambda receipt: draw_receipt(receipt, done))
