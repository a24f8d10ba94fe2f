"""`errata check --questions FILE`: a curator's own questions, asked before and after an edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Group
from rich.text import Text

from errata.cli.files import read_text
from errata.cli.render.escaping import make_printable, one_line
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.errors import ErrataError
from errata.wire import BatchResult

PER_CALL = 8  # questions of a call, which a language model answers within the time of one answer


@dataclass(frozen=True)
class Comparison:
    question: str
    before: BatchResult
    after: BatchResult

    @property
    def has_failed(self) -> bool:
        return self.before.answer is None or self.after.answer is None

    @property
    def changes(self) -> bool:
        return describe_result(self.before) != describe_result(self.after)

    @property
    def n_requests(self) -> int:
        """The requests of the model: one for both versions, unless other facts stood before it."""
        return len(
            {
                str(result.answer and result.answer.facts)
                for result in (self.before, self.after)
                if (result.answer and result.answer.upstream)
                or (result.problem and result.problem.code.startswith("upstream"))
            }
        )


def compare_answers(
    session: Session, file: Path, model: str | None, before: int | None, at: int | None, budget: int
) -> None:
    """Ask the questions of a file at two versions, and show what changes; typer.Exit with BROKEN if one fails.

    The answers so far are shown where the service refuses in the middle; then its ErrataError follows.
    """
    questions = read_questions(file, budget)
    newest = session.newest_version() if at is None else at
    versions = max(0, newest - 1) if before is None else before, newest
    comparisons: list[Comparison] = []
    failure: Exception | None = None
    try:
        while len(comparisons) < len(questions):
            n_left = budget - sum(comparison.n_requests for comparison in comparisons)
            if n_left < 1:
                fault = f"the budget of {plural(budget, 'request')} is used up: give a larger one"
                raise typer.BadParameter(fault)
            # A question takes two requests where other facts stand before it at each version
            part = questions[len(comparisons) :][: max(1, min(PER_CALL, n_left // 2))]
            items = [{"question": question, "version": version} for question in part for version in versions]
            call = session.calls.ask_many(items, model=model, min_version=None)
            reply = session.send(call, f"Asking {len(questions):,} questions")
            results = make_printable(reply.value).results
            comparisons += map(Comparison, part, results[::2], results[1::2])
    except (ErrataError, typer.BadParameter) as error:
        failure = error
    if session.as_json:
        sides = [
            (c.question, c.before.model_dump(mode="json"), c.after.model_dump(mode="json"))
            for c in comparisons
        ]
        typer.echo(
            json.dumps([dict(zip(("question", "before", "after"), side, strict=True)) for side in sides])
        )
    else:
        session.out.print(_draw(comparisons, versions), soft_wrap=True)
    if failure is not None:
        raise failure
    if any(comparison.has_failed for comparison in comparisons):
        raise typer.Exit(Exit.BROKEN)


def read_questions(file: Path, budget: int) -> list[str]:
    """Return the lines of a file, each once; typer.BadParameter if it cannot be read, or they exceed a budget."""
    lines = read_text(file).splitlines()
    questions = list(dict.fromkeys(filter(None, map(str.strip, lines))))
    if len(questions) > budget:
        count = f"{file} has {plural(len(questions), 'question')}, and each may cost a request of the model"
        raise typer.BadParameter(f"{count}: give --budget {len(questions)}, or fewer; nothing was asked")
    return questions


def _draw(comparisons: Sequence[Comparison], versions: tuple[int, int]) -> Group:
    rows_to_show = [comparison for comparison in comparisons if comparison.changes or comparison.has_failed]
    rows = [
        Text.assemble(
            f"{one_line(row.question)}\n",
            (
                f"  {describe_result(row.before)} → {describe_result(row.after)}",
                "red" if row.has_failed else "yellow",
            ),
        )
        for row in rows_to_show
    ]
    n_requests = sum(comparison.n_requests for comparison in comparisons)
    count = f"{len(rows_to_show):,} of {plural(len(comparisons), 'question')} changed or failed"
    words = (
        f"{count} from version {versions[0]} to {versions[1]}; {plural(n_requests, 'request')} of the model."
    )
    return Group(*rows, Text(words, style="dim"))


def describe_result(result: BatchResult) -> str:
    """Return the answer in a line, with its edit if one answered, or the problem."""
    if result.answer is None:
        return f"failed: {result.problem.detail if result.problem else ''}"
    edits = f" (edit {', '.join(result.answer.edits)})" if result.answer.edits else ""
    return f"{one_line(result.answer.answer or 'not sure')}{edits}"
