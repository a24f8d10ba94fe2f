"""The lines of one commit, and the service's reports about each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from errata.bulk.line import Line
from errata.errors import Refused
from errata.request import Reply
from errata.wire import EditItem, EditReceipt, FactItem, Item, RefusedEdit, Report
from errata.wire.wording import normalize_question

PLACE = re.compile(r"\bedits\.(\d+)\b")


class Batch:
    """The lines of one commit.

    Attributes:
        number: Number of the batch, from 1.
        size: Number of all its lines; `lines` has those that are sent.
        active_lines: Lines of an export that are active already.
        earlier_reply: Reply to the commit that an earlier run made of it.
    """

    def __init__(self, number: int, lines: Sequence[Line]) -> None:
        """Choose the lines to send now, so that the same file always gives the same commits."""
        self.number, self.size = number, len(lines)
        self.lines = [line for line in lines if line.is_pending]
        self.active_lines = [line for line in lines if line.status == "no-op"]
        self.method = next((line.origin.method for line in lines if line.origin.method), None)
        self.earlier_reply: Reply[EditReceipt] | None = None

    @property
    def items(self) -> list[Item]:
        return [line.item for line in self.lines if line.item is not None]

    def list_items(self, ids: Mapping[str, str]) -> list[Item]:
        """Return the items; edits of an export that a line replaces get the ids that they have here.

        Args:
            ids: The id of an edit in an export -> its id in the service.
        """
        items = self.items
        for place, (line, item) in enumerate(zip(self.lines, items, strict=True)):
            if line.origin.version and isinstance(item, EditItem) and item.replaces:
                names = [ids[str(name)] for name in item.replaces if str(name) in ids]
                items[place] = item.model_copy(update={"replaces": names})
        return items

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

    def leave_out(self, edits: Sequence[RefusedEdit]) -> bool:
        """Leave out lines that change nothing, and return whether there are any, and others to send."""
        idle = [self.lines[edit.place] for edit in edits]
        remaining = [line for line in self.lines if line not in idle]
        for line in idle:
            line.status = "no-op"
        if not idle or not remaining:
            return False
        self.lines = remaining
        return True

    def record_reverted(self, version: int) -> None:
        for line in self.lines:
            line.status, line.version = "taken back", version

    def refuse(self, edits: Sequence[RefusedEdit]) -> None:
        for edit in edits:
            line = self.lines[edit.place]
            line.refuse(edit.reason or edit.code, self.name_lines(edit.detail))
            if (
                line.origin.version and edit.code == "nothing_to_do"
            ):  # a removal of a value that is gone already
                line.status = "no-op"

    def name_lines(self, detail: str) -> str:
        """Replace the service's `edits.3` by the place of the line in the file."""

        def where(match: re.Match[str]) -> str:
            place = int(match[1])
            return self.lines[place].where if place < len(self.lines) else match[0]

        return PLACE.sub(where, detail)


def divide(lines: Sequence[Line], size: int) -> list[Batch]:
    """Cut the lines of a file into commits of at most `size` lines.

    A line of an export begins a commit where an edit came later than those before it, and not beside them: where it
    says something else of the same, replaces one of them, is no edit of the same kind, or is made in another way.
    """
    groups: list[list[Line]] = [[]]
    subjects: set[tuple[str, ...]] = set()
    for line in lines:
        last, (keys, rivals) = groups[-1], list_subjects(line)
        is_later = bool(line.origin.version and last) and (
            not subjects.isdisjoint(rivals)
            or type(line.item) is not type(last[-1].item)
            or line.origin.method != last[-1].origin.method
        )
        if len(last) == size or is_later:
            groups.append([])
            subjects.clear()
        groups[-1].append(line)
        subjects |= keys
    return [Batch(number, group) for number, group in enumerate(groups, start=1)]


def list_subjects(line: Line) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """Return keys of what a line is about, and keys that no earlier line of its commit may have."""
    item = line.item
    if isinstance(item, EditItem):
        wordings = map(normalize_question, (item.question, *item.paraphrases))
        questions = {("question", item.model or "", wording) for wording in wordings}
        return questions | {("edit", line.origin.id)}, questions | {
            ("edit", str(name)) for name in item.replaces
        }
    if isinstance(item, FactItem):
        values = ("values", item.subject.casefold(), item.relation.casefold())
        only = ("only", *values)
        return ({values}, {only}) if item.act == "add" else ({values, only}, {values})
    return set(), set()
