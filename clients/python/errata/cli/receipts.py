"""Sends a change and shows its receipt, and ends with the exit code that a script can rely on."""

from __future__ import annotations

from functools import partial

import typer

from errata.cli.options import Write
from errata.cli.render.receipt import draw_receipt
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.request import Call, Reply
from errata.wire import EditReceipt, Report


def make(session: Session, call: Call[EditReceipt], write: Write, title: str, summary: str) -> None:
    """Send a change and show its receipt.

    Args:
        title: What a person waits for, e.g. `Adding the rule`.
        summary: What the command did, e.g. `1 rule`.
    """
    show_receipt(session, session.send(call, write.title(title)), summary, write.verbose)


def show_receipt(session: Session, reply: Reply[EditReceipt], summary: str, verbose: bool = False) -> None:
    """Show a receipt, and what it cost; typer.Exit with BROKEN if an edit does not hold."""
    session.show(reply, partial(draw_receipt, summary=summary, verbose=verbose))
    require_success(reply.value.report)


def require_success(*reports: Report) -> None:
    """Raise typer.Exit with BROKEN if an edit of a report, or an earlier one, does not hold after it."""
    if any(map(is_failing, reports)):
        raise typer.Exit(Exit.BROKEN)


def is_failing(report: Report) -> bool:
    """Return whether an earlier edit broke or was replaced unasked, or an example or test of a new one fails."""
    return (
        bool(report.broken_tests)
        or not all(test.follows for test in report.superseded_tests)
        or not all(
            edit.holds
            and all(example.follows for example in edit.paraphrases)
            and not any(example.follows for example in edit.counterexamples)
            and all(test.follows for test in edit.tests)
            for edit in report.edits
        )
    )
