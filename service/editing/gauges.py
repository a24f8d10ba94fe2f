"""How the edits of the newest version stand, and what room they leave, on the metrics page."""

from __future__ import annotations

from collections.abc import Mapping

from service import metrics
from service.measuring.capacity import Room
from service.measuring.present import Present


def publish(present: Present | None, version: int, counts: Mapping[str, int] | None, room: Room) -> None:
    """counts: of edits at `version`, by state. An older version than the present is of no interest."""
    if counts is None or present is None or present.version != version:
        return
    metrics.edits_stand(counts)
    for reading in present.readings.values():
        taken = room.of([reading])
        metrics.room(
            reading.system.memory, taken.slots_used, taken.slots_reserved, taken.rows_per_slot, taken.margin
        )
