"""Facts about edits beside the history: how often they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from errata.wire import EditState, Hits

from service.errors import LedgerUnavailable
from service.upkeep.hits import HitCounts


@dataclass(frozen=True)
class Upkeep:
    hits: HitCounts

    async def note(self, edits: Sequence[EditState]) -> list[EditState]:
        """Return the edits with their hits; as they are while these cannot be read."""
        try:
            hits = await self.hits.find([edit.id for edit in edits])
        except LedgerUnavailable:
            return list(edits)
        counts = {
            id: Hits(count=hit.count, last=datetime.fromtimestamp(hit.at, UTC)) for id, hit in hits.items()
        }
        return [edit.model_copy(update={"hits": counts.get(edit.id, Hits(count=0))}) for edit in edits]
