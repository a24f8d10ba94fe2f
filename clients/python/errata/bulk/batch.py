"""The lines of one commit, and what the service's answers say of each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import TypeAdapter

from errata.bulk.line import Line
from errata.errors import Refused
from errata.request import Reply
from errata.wire import EditReceipt, EditReport, Item, RefusedEdit

PLACE = re.compile(r"\bedits\.(\d+)\b")
REFUSED: TypeAdapter[list[RefusedEdit]] = TypeAdapter(list[RefusedEdit])


class Chunk:
    """number: from 1. found: the receipt of the commit that an earlier run made of it."""

    def __init__(self, number: int, lines: Sequence[Line]) -> None:
        """What is sent of the lines is decided here, so that the same file always gives the same commits."""
        self.number, self.size = number, len(lines)
        self.lines = [line for line in lines if line.open]
        self.found: Reply[EditReceipt] | None = None

    @property
    def items(self) -> list[Item]:
        return [line.item for line in self.lines if line.item is not None]

    def done(self, receipt: EditReceipt) -> None:
        for report in receipt.report.edits:
            if report.place is not None and report.place < len(self.lines):
                _note(self.lines[report.place], report, receipt.version)
        self.refuse(receipt.report.refused)

    def nothing(self, error: Refused) -> None:
        """All of it is said already, or refused."""
        self.refuse(refused_by(error))
        for line in self.lines:
            if line.open:
                line.status, line.holds = "no-op", True

    def taken_back(self, version: int) -> None:
        for line in self.lines:
            line.status, line.version = "taken back", version

    def refuse(self, refused: Sequence[RefusedEdit]) -> None:
        for one in refused:
            self.lines[one.place].refuse(one.reason or one.code, self.in_lines(one.detail))

    def in_lines(self, detail: str) -> str:
        """The service's `edits.3` as a line of the file."""

        def where(found: re.Match[str]) -> str:
            place = int(found[1])
            return self.lines[place].where if place < len(self.lines) else found[0]

        return PLACE.sub(where, detail)


def refused_by(error: Refused) -> list[RefusedEdit]:
    return REFUSED.validate_python(error.extra("refused") or [])


def _note(line: Line, report: EditReport, version: int | None) -> None:
    """A fact has several reports: one for the graph, and one for each system that learns of it."""
    warnings = list(report.warnings)
    if report.id:
        line.status, line.version, line.detail = "done", version, ""
    elif line.status != "done":
        line.status, line.detail = "no-op", "".join(warnings[:1])
        del warnings[:1]
    line.before = report.before if line.before is None else line.before
    line.holds = report.holds and line.holds is not False
    line.wordings += len(report.paraphrases)
    line.follow += sum(one.follows for one in report.paraphrases)
    line.warnings += [one for one in warnings if one not in line.warnings]
