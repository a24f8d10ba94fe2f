"""Duplicates in a file: of two lines with one question the later counts, or the earlier if their answers are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from errata.bulk.line import Line
from errata.wire import EditItem
from errata.wire.wording import normalize_question

Wording = tuple[str | None, str]  # the model, and the question as far as its spelling matters


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
