"""The lines of one commit, and the service's reports about each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from errata.bulk.line import Line
from errata.errors import Refused
from errata.request import Reply
from errata.wire import EditReceipt, Item, RefusedEdit, Report

PLACE = re.compile(r"\bedits\.(\d+)\b")


class Batch:
    """The lines of one commit.

    Attributes:
        number: Number of the batch, from 1.
        size: Number of all its lines; `lines` has those that are sent.
        earlier_reply: Reply to the commit that an earlier run made of it.
    """

    def __init__(self, number: int, lines: Sequence[Line]) -> None:
        """Choose the lines to send now, so that the same file always gives the same commits."""
        self.number, self.size = number, len(lines)
        self.lines = [line for line in lines if line.is_pending]
        self.earlier_reply: Reply[EditReceipt] | None = None

    @property
    def items(self) -> list[Item]:
        return [line.item for line in self.lines if line.item is not None]

    def record(self, receipt: EditReceipt) -> None:
        """Note the outcome of each line. A fact has several reports: one for the graph, one for each other system."""
        for report in receipt.report.edits:
            if report.place is None or report.place >= len(self.lines):
                continue
            line, warnings = self.lines[report.place], list(report.warnings)
            if report.id:
                line.status, line.version, line.detail = "done", receipt.version, ""
            elif line.status != "done":
                line.status, line.detail = "no-op", "".join(warnings[:1])
                del warnings[:1]
            line.before = report.before if line.before is None else line.before
            line.holds = report.holds and line.holds is not False
            line.wordings += len(report.paraphrases)
            line.follow += sum(wording.follows for wording in report.paraphrases)
            line.warnings += [warning for warning in warnings if warning not in line.warnings]
        self.refuse(receipt.report.refused)

    def add_warnings(self, report: Report) -> None:
        """Note further warnings of lines that were made."""
        for edit in report.edits:
            if edit.id and edit.place is not None:
                line = self.lines[edit.place]
                line.warnings += [warning for warning in edit.warnings if warning not in line.warnings]

    def record_no_op(self, error: Refused) -> None:
        """Note that every line has its answer already, or was refused."""
        self.refuse(error.extra_list("refused", RefusedEdit))
        for line in self.lines:
            if line.is_pending:
                line.status, line.holds = "no-op", True

    def record_reverted(self, version: int) -> None:
        for line in self.lines:
            line.status, line.version = "taken back", version

    def refuse(self, edits: Sequence[RefusedEdit]) -> None:
        for edit in edits:
            self.lines[edit.place].refuse(edit.reason or edit.code, self.name_lines(edit.detail))

    def name_lines(self, detail: str) -> str:
        """Replace the service's `edits.3` by the place of the line in the file."""

        def where(match: re.Match[str]) -> str:
            place = int(match[1])
            return self.lines[place].where if place < len(self.lines) else match[0]

        return PLACE.sub(where, detail)
