"""The fill level of the memories, and the levels at which a receipt warns and an edit is refused.

A memory whose edits own their slots has as many as the service reserves for it: a fixed number, or, if the settings
let it grow, twice as many each time four fifths are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from errata.wire import Capacity

from models.memory import Usage
from service.editing.models import MemoryAtVersion
from service.errors import MemoryFull

WARN_ABOVE = 0.8  # share of used slots above which a receipt warns, or the memory grows
RESERVE_MORE = "start the service with more --bank-slots, or with --auto-grow-bank"


@dataclass(frozen=True)
class SlotBudget:
    """The slots that the service reserves."""

    slots: int  # number of slots for edits that own theirs
    grows: bool  # whether the number doubles when they get full

    def describe(self, memories: Iterable[MemoryAtVersion]) -> Capacity:
        """Describe several memories together: slots are added up, and all warnings count."""
        usages = [memory.usage for memory in memories]
        capacities = [self._describe(usage) for usage in usages]
        limits = [c for c, usage in zip(capacities, usages, strict=True) if usage.slots_reserved is None]
        relevant = limits or capacities
        return Capacity(
            slots_used=sum(capacity.slots_used for capacity in relevant),
            slots_reserved=sum(capacity.slots_reserved for capacity in relevant),
            warnings=[warning for capacity in capacities for warning in capacity.warnings],
        )

    def check(self, memories: Iterable[MemoryAtVersion]) -> None:
        """Check that every memory has enough slots for its edits."""
        for memory in memories:
            n_used, n_reserved = memory.usage.slots_used, self._slots_reserved(memory.usage)
            if n_used > n_reserved:
                raise MemoryFull(
                    f"with this {memory.memory.name} would take {n_used:,} of {n_reserved:,} slots: "
                    f"it was not made; {RESERVE_MORE}, or take edits back",
                    used=n_used,
                    slots=n_reserved,
                )

    def _describe(self, usage: Usage) -> Capacity:
        n_reserved = self._slots_reserved(usage)
        capacity = Capacity.model_validate({**asdict(usage), "slots_reserved": n_reserved})
        if usage.slots_reserved is None and usage.slots_used > n_reserved:
            capacity.warnings.append(
                f"{usage.slots_used:,} slots are wanted and {n_reserved:,} are set aside: {RESERVE_MORE}, "
                "or no edit can be added"
            )
        elif usage.slots_reserved is None and usage.slots_used > WARN_ABOVE * n_reserved:
            capacity.warnings.append(
                f"{usage.slots_used:,} of {n_reserved:,} slots are taken: {RESERVE_MORE} "
                "before no more edits can be made"
            )
        return capacity

    def _slots_reserved(self, usage: Usage) -> int:
        if usage.slots_reserved is not None:
            return usage.slots_reserved
        slots = self.slots
        while self.grows and usage.slots_used > WARN_ABOVE * slots:
            slots *= 2
        return slots
