"""The commands that make changes: their options and their receipts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast, get_args

import typer

from errata import wire
from errata.calls.edit import CommitOptions, DocumentOptions, EditOptions
from errata.cli.options import Review
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.request import Call, Reply


@dataclass(frozen=True)
class Write:
    """The options that every command which makes a commit has, but for those that its parameter's type leaves out.

    Args:
        message: Why; it stands in the log.
        dry_run: Measure only; change nothing.
        strict: Refuse if it breaks or replaces an earlier edit, changes another answer or misspells a name.
        expect (VERSION): Refuse if this is not the newest version any more.
        no_wait: Do not wait until all replicas have it.
        no_wait_report: Do not wait until it is measured what else changes: show has it later.
        idempotency_key: Repeat a change that may have been made: it is made once.
        verbose: Show internals, too: slots, margins, rows and milliseconds.
    """

    message: str = ""
    dry_run: bool = False
    strict: bool = False
    expect: int | None = None
    no_wait: bool = False
    no_wait_report: bool = False
    review: Review = None
    idempotency_key: str | None = None
    verbose: bool = False

    def title(self, title: str) -> str:
        """Return the title of the call while a person waits."""
        return "Trying it out" if self.dry_run else title

    @property
    def of_commit(self) -> CommitOptions:
        """The options of a commit that is measured; without waiting for the replicas it waits for no report either."""
        return CommitOptions(
            message=self.message,
            wait="none" if self.no_wait else "all",
            wait_report=not (self.no_wait or self.no_wait_report or self.dry_run),
            strict=self.strict,
            dry_run=self.dry_run,
            idempotency_key=self.idempotency_key,
        )

    @property
    def of_edit(self) -> EditOptions:
        return cast(EditOptions, {**self.of_commit, "expected_version": self.expect, "review": self.review})

    @property
    def of_document(self) -> DocumentOptions:
        names = DocumentOptions.__annotations__
        return cast(DocumentOptions, {name: value for name, value in self.of_edit.items() if name in names})


# Beside the options, the names of those that the route of a command does not take
Undo = Annotated[Write, "expect", "review"]
Import = Annotated[Write, "review"]
DocumentWrite = Annotated[Write, "strict", "no_wait_report", "review"]


def left_out(kind: Any) -> set[str] | None:
    """Return the options that a type of `Write` leaves out; None for another type."""
    if kind is Write:
        return set()
    kinds = get_args(kind)
    return set(kinds[1:]) if kinds and kinds[0] is Write else None


def make(session: Session, call: Call[wire.EditReceipt], write: Write, title: str, summary: str) -> None:
    """Send a change and show its receipt.

    Args:
        title: What a person waits for, e.g. `Adding the rule`.
        summary: What the command did, e.g. `1 rule`.
    """
    show_receipt(session, session.send(call, write.title(title)), summary, write.verbose)


def show_receipt(
    session: Session, reply: Reply[wire.EditReceipt], summary: str, verbose: bool = False
) -> None:
    """Show a receipt, and what it cost; typer.Exit with BROKEN if an edit does not hold."""
    from errata.cli.render.receipt import draw_receipt  # which needs the types of edits, as `ask` does not

    session.show(reply, partial(draw_receipt, summary=summary, verbose=verbose))
    require_success(reply.value.report)


def require_success(*reports: wire.Report) -> None:
    """Raise typer.Exit with BROKEN if an edit of a report, or an earlier one, does not hold after it."""
    if any(map(is_failing, reports)):
        raise typer.Exit(Exit.BROKEN)


def is_failing(report: wire.Report) -> bool:
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
