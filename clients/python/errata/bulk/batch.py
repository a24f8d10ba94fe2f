"""The lines of one commit and the service's reports about each; lines that are not sent, as they say nothing new."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pydantic import TypeAdapter

from errata.bulk.line import Line
from errata.errors import Refused
from errata.request import Reply
from errata.wire import ActiveEdit, EditItem, EditReceipt, FactItem, Item, RefusedEdit, Report
from errata.wire.wording import normalize_question

PLACE = re.compile(r"\bedits\.(\d+)\b")
Wording = tuple[str | None, str]  # the model, and the question as far as its spelling matters
ITEM: TypeAdapter[Item] = TypeAdapter(Item)
UNLIKE = {"replaces", "create"}  # what the same edit may have otherwise in another ledger, or in a line


class Batch:
    """The lines of one commit.

    Attributes:
        number: Number of the batch, from 1.
        size: Number of all its lines; `lines` has those that are sent.
        active_lines: Lines of an export that are active already.
        earlier_reply: Reply to the commit that an earlier run made of it.
        receipt: Receipt of the commit; None before it, and where there is none.
    """

    def __init__(self, number: int, lines: Sequence[Line]) -> None:
        """Choose the lines to send now, so that the same file always gives the same commits."""
        self.number, self.size = number, len(lines)
        self.lines = [line for line in lines if line.is_pending]
        self.active_lines = [line for line in lines if line.status == "no-op"]
        self.method = next((line.origin.method for line in lines if line.origin.method), None)
        self.earlier_reply: Reply[EditReceipt] | None = None
        self.receipt: EditReceipt | None = None

    def list_items(self, ids: Mapping[str, str]) -> list[Item]:
        """Return the items; edits of an export that a line replaces get their `ids` of this service."""
        return [line.rename(ids) for line in self.lines]

    def record(self, receipt: EditReceipt) -> None:
        """Note the outcome of each line. A fact has several reports: one for the graph, one for each other system."""
        self.receipt = receipt
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

    def complete(self, receipt: EditReceipt, report: Report) -> None:
        """Put the whole report in the place of the first one, and note further warnings of lines that were made."""
        self.receipt = receipt.model_copy(update={"report": report})
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
        self.lines = remaining or self.lines
        return bool(idle and remaining)

    def record_reverted(self, version: int) -> None:
        for line in self.lines:
            line.status, line.version = "taken back", version

    def refuse(self, edits: Sequence[RefusedEdit]) -> None:
        for edit in edits:
            line = self.lines[edit.place]
            line.refuse(edit.reason or edit.code, self.name_lines(edit.detail))
            if line.origin.version and edit.code == "nothing_to_do":  # the removed value is gone already
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


def mark_duplicates(lines: Sequence[Line]) -> None:
    """Mark the corrections not to send, and take wordings from a line to which a later one gives another answer.

    Facts are left to the service, which knows the graph.
    """
    lines = [line for line in lines if line.is_pending and isinstance(line.item, EditItem)]
    last: dict[Wording, tuple[Line, str]] = {}
    for line in reversed(lines):  # backwards, so that a line which is replaced replaces none
        assert isinstance(line.item, EditItem)
        later_lines = {
            wording: last[key][0]
            for key, wording in _list_wordings(line.item)
            if key in last and last[key][1] != line.item.answer
        }
        if line.item.question in later_lines:
            line.refuse("superseded", f"{later_lines[line.item.question].where} gives another answer")
            continue
        if later_lines:
            remaining = [wording for wording in line.item.paraphrases if wording not in later_lines]
            line.item = line.item.model_copy(update={"paraphrases": remaining})
            line.warnings += [
                f"{later.where} gives {wording!r} another answer, so it is none of this line's wordings any more"
                for wording, later in later_lines.items()
            ]
        last |= {key: (line, line.item.answer) for key, _ in _list_wordings(line.item)}
    first: dict[Wording, Line] = {}
    for line in lines:
        if line.is_pending and isinstance(line.item, EditItem):
            keys = [key for key, _ in _list_wordings(line.item)]
            if all(key in first for key in keys):
                line.status, line.detail = "duplicate", f"{first[keys[0]].where} says the same"
            for key in keys:
                first.setdefault(key, line)


def _list_wordings(item: EditItem) -> Iterator[tuple[Wording, str]]:
    for wording in (item.question, *item.paraphrases):
        yield (item.model, normalize_question(wording)), wording


def mark_active(lines: Sequence[Line], edits: Sequence[ActiveEdit]) -> dict[str, str]:
    """Mark each line of an export whose edit is active, unless a line before it changes what it is about.

    Return the id of each marked edit in the export -> its id in the service.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, edit in enumerate(edits):
        places[_write_content(ITEM.validate_python(edit.edit), edit.method)].append(place)
    last: dict[tuple[str, ...], int] = {}  # what a line is about -> the last place of a line about it
    ids: dict[str, str] = {}
    for line in lines:
        if not line.is_pending or line.item is None:
            continue
        candidates = places[_write_content(line.item, line.origin.method)]
        same = [place for place in candidates if str(edits[place].version) == line.origin.version]
        place = next(iter(same or candidates), len(edits))
        keys, rivals = list_subjects(line)
        if place < len(edits) and all(last.get(key, -1) < place for key in rivals):
            candidates.remove(place)
            line.status, line.holds = "no-op", True
            ids |= {line.origin.id: edits[place].id} if line.origin.id else {}
        else:
            place = len(edits)  # it is made after all that is active
        last |= {key: max(last.get(key, -1), place) for key in keys}
    return ids


def foresee(lines: Sequence[Line]) -> None:
    """Count a line of an export as made where the dry run found it so already, and a line before it changes that."""
    changed: set[tuple[str, ...]] = set()
    for line in lines:
        keys, rivals = list_subjects(line)
        if line.status == "no-op" and not changed.isdisjoint(rivals):
            line.status = "done"
        if line.status == "done":
            changed |= keys


def _write_content(item: Item, method: str) -> str:
    content = item.model_dump(mode="json", exclude=UNLIKE, exclude_defaults=True)
    return json.dumps([content, method], sort_keys=True)
