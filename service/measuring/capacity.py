"""How much of their memories the edits take, when to say so, and when to take no more of them.

A memory whose edits own their slots has as many as the service sets aside for it: a fixed number, or twice as many
each time four fifths are taken, where the settings let it grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from errata.wire import Capacity

from models.memory import Usage as Taken
from service.errors import MemoryFull
from service.measuring.reading import Reading

FULL = 0.8  # share of the slots from which on it is told, or more are set aside
SET_ASIDE = "start the service with more --bank-slots, or with --auto-grow-bank"


@dataclass(frozen=True)
class Room:
    """slots: what is set aside for edits that own theirs. grows: doubled when it gets full."""

    slots: int
    grows: bool

    def of(self, readings: Iterable[Reading]) -> Capacity:
        """Of several memories together: of slots that are set aside, the sum; of all else the tightest counts."""
        taken = [reading.capacity for reading in readings]
        each = [self._of(one) for one in taken]
        limited = [told for told, one in zip(each, taken, strict=True) if one.slots_reserved is None] or each
        crowded = [one.rows_per_slot for one in each if one.rows_per_slot is not None]
        margins = [one.margin for one in each if one.margin is not None]
        return Capacity(
            slots_used=sum(one.slots_used for one in limited),
            slots_reserved=sum(one.slots_reserved for one in limited),
            rows_per_slot=max(crowded, default=None),
            margin=min(margins, default=None),
            warnings=[warning for one in each for warning in one.warnings],
        )

    def take(self, readings: Iterable[Reading]) -> None:
        """MemoryFull when the edits of one memory would own more slots than there are."""
        for reading in readings:
            used, reserved = reading.capacity.slots_used, self._reserved(reading.capacity)
            if used > reserved:
                said = f"with this {reading.system.memory} would take {used:,} of {reserved:,} slots"
                raise MemoryFull(
                    f"{said}: it was not made; {SET_ASIDE}, or take edits back", used=used, slots=reserved
                )

    def _of(self, taken: Taken) -> Capacity:
        reserved = self._reserved(taken)
        found = Capacity.model_validate({**asdict(taken), "slots_reserved": reserved})
        if taken.slots_reserved is None and taken.slots_used > FULL * reserved:
            found.warnings.append(_crowded(taken.slots_used, reserved))
        return found

    def _reserved(self, taken: Taken) -> int:
        if taken.slots_reserved is not None:
            return taken.slots_reserved
        slots = self.slots
        while self.grows and taken.slots_used > FULL * slots:
            slots *= 2
        return slots


def _crowded(used: int, reserved: int) -> str:
    if used > reserved:
        return (
            f"{used:,} slots are wanted and {reserved:,} are set aside: {SET_ASIDE}, or no edit can be added"
        )
    return f"{used:,} of {reserved:,} slots are taken: {SET_ASIDE} before no more edits can be made"
