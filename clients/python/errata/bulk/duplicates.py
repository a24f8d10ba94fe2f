"""What one file says twice: of two answers to one question the later line counts, of two equal ones the earlier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from errata.bulk.line import Line
from errata.wire import EditItem
from errata.wire.wording import plain

Wording = tuple[str, str]  # the model, and the question as far as its spelling matters
LATER = "{} answers it anew"
EARLIER = "{} says the same"
TAKEN_OVER = "{} gives {!r} another answer, so it is none of this line's wordings any more"


def settle(lines: Sequence[Line]) -> None:
    """Mark what is not to be sent, and take wordings from a line to which a later one gives another answer.

    Of corrections only: what a fact comes to is for the service to say.
    """
    corrections = [(line, line.item) for line in lines if line.open and isinstance(line.item, EditItem)]
    _supersede(corrections)
    said: dict[Wording, Line] = {}
    for line, _ in corrections:
        if line.open and isinstance(line.item, EditItem):
            wordings = list(_wordings(line.item))
            if all(key in said for key, _ in wordings):
                line.status, line.detail = "duplicate", EARLIER.format(said[wordings[0][0]].where)
            said |= {key: line for key, _ in wordings if key not in said}


def _supersede(corrections: Sequence[tuple[Line, EditItem]]) -> None:
    """Backwards, so that a line which is superseded itself supersedes nothing."""
    last: dict[Wording, tuple[Line, str]] = {}
    for line, item in reversed(corrections):
        lost = {
            wording: last[key][0]
            for key, wording in _wordings(item)
            if key in last and last[key][1] != item.answer
        }
        if item.question in lost:
            line.refuse("superseded", LATER.format(lost[item.question].where))
            continue
        if lost:
            kept = [one for one in item.paraphrases if one not in lost]
            line.item = item.model_copy(update={"paraphrases": kept})
            line.warnings += [TAKEN_OVER.format(later.where, wording) for wording, later in lost.items()]
        last |= {key: (line, item.answer) for key, _ in _wordings(line.item or item)}


def _wordings(item: object) -> Iterator[tuple[Wording, str]]:
    assert isinstance(item, EditItem)
    for wording in (item.question, *item.paraphrases):
        yield (item.model, plain(wording)), wording
