"""How much of their memories the edits take, for the report and the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from errata.wire import Capacity

from service.editing.reading import Reading


def capacity(readings: Iterable[Reading]) -> Capacity:
    """Of several memories together: slots add up, and of all else the tightest counts."""
    each = [Capacity.model_validate(asdict(reading.capacity)) for reading in readings]
    crowded = [one.rows_per_slot for one in each if one.rows_per_slot is not None]
    margins = [one.margin for one in each if one.margin is not None]
    return Capacity(
        slots_used=sum(one.slots_used for one in each),
        slots_reserved=sum(one.slots_reserved for one in each),
        rows_per_slot=max(crowded, default=None),
        margin=min(margins, default=None),
        warnings=[warning for one in each for warning in one.warnings],
    )
