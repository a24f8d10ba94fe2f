"""Which lines of an export are active in the service already, so that the file can be sent again without a change."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from pydantic import TypeAdapter

from errata.bulk.batch import list_subjects
from errata.bulk.line import Line
from errata.wire import ActiveEdit, Item

ITEM: TypeAdapter[Item] = TypeAdapter(Item)
UNLIKE = {"replaces", "create"}  # what the same edit may have otherwise in another ledger, or in a line


def mark_active(lines: Sequence[Line], edits: Sequence[ActiveEdit]) -> dict[str, str]:
    """Mark each line of an export whose edit is active, unless a line before it changes what it is about.

    Args:
        lines: The lines, in order.
        edits: The active edits, in the ledger's order.

    Returns:
        The id of each marked edit in the export -> its id in the service.
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
