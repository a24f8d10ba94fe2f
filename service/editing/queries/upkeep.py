"""Facts about edits beside the history: how often they answer, and when a person looks at them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from errata.wire import EditDetail, EditState, HitList, Hits, ReviewList

from service.editing.draft import EditorState
from service.editing.queries.versions import Versions
from service.errors import LedgerUnavailable, NothingToDo
from service.ledger.redis.connection import Connection
from service.metrics import metrics
from service.upkeep.hits import HitCounts
from service.upkeep.reviews import Review, Reviews, check_day, find_today

COUNT_EVERY_S = 60.0  # pause between two counts of the edits whose day has come


@dataclass(frozen=True)
class Upkeep:
    hits: HitCounts
    reviews: Reviews

    @staticmethod
    def over(connection: Connection) -> Upkeep:
        return Upkeep(HitCounts(connection), Reviews(connection))

    async def note(self, edits: Sequence[EditState]) -> list[EditState]:
        """Return the edits with their hits and days; as they are while these cannot be read."""
        ids = [edit.id for edit in edits]
        try:
            hits, days = await self.hits.find(ids), await self.reviews.find(ids)
        except LedgerUnavailable:
            return list(edits)
        counts = {
            id: Hits(count=hit.count, last=datetime.fromtimestamp(hit.at, UTC)) for id, hit in hits.items()
        }
        return [
            edit.model_copy(update={"hits": counts.get(edit.id, Hits(count=0)), "review": days.get(edit.id)})
            for edit in edits
        ]

    async def note_details(self, details: Sequence[EditDetail]) -> list[EditDetail]:
        """Return the details of edits, noted as `note` does."""
        edits = await self.note([detail.edit for detail in details])
        return [detail.model_copy(update={"edit": edit}) for detail, edit in zip(details, edits, strict=True)]

    async def list_reviews(self, versions: Versions, due: bool, limit: int) -> ReviewList:
        """List active edits that have a day and were not replaced, the earliest first.

        Args:
            versions: The history.
            due: Whether to list only those whose day has come.
            limit: Largest number of edits in the list.
        """
        today, reviews = find_today(), _select_current(versions, await self.reviews.list_until())
        n_due = sum(review.on <= today for review in reviews)
        metrics.EDITS_DUE.set(n_due)
        heads = [versions.edit(review.edit) for review in reviews[: min(n_due, limit) if due else limit]]
        return ReviewList(edits=await self.note_details(heads), due=n_due, total=len(reviews))

    async def list_hits(self, versions: Versions, limit: int) -> HitList:
        """List the active edits that have answered users, the most used first."""
        ids = await self.hits.list_top(limit, versions.state.active)
        return HitList(edits=await self.note_details([versions.edit(id) for id in ids]))

    async def review(self, versions: Versions, id: str, on: date | None) -> EditDetail:
        """Set the day of an active edit, or take it away.

        Raises:
            InvalidInput: The day is past.
            NotFound: There is no such edit.
            NothingToDo: The edit is taken back.
        """
        detail = versions.edit(id)
        check_day(on)
        if on is None:
            await self.reviews.remove(id)
        else:
            if not detail.edit.active:
                raise NothingToDo(f"edit {id} is taken back: there is nothing to look at again")
            await self.reviews.put([Review(edit=id, on=on)])
        return (await self.note_details([detail]))[0]

    async def watch(self, find_state: Callable[[], EditorState | None]) -> None:
        """Count again and again the active edits whose day has come."""
        while True:
            state = find_state()
            if state is not None:
                try:
                    due = await self.reviews.list_until(find_today())
                except LedgerUnavailable:
                    pass  # the count stays as it was
                else:
                    metrics.EDITS_DUE.set(len(_select_current(Versions(state), due)))
            await asyncio.sleep(COUNT_EVERY_S)


def _select_current(versions: Versions, reviews: Sequence[Review]) -> list[Review]:
    """Return the days of the edits that are active and have no successor."""
    edits = versions.state.edits
    active = [review for review in reviews if review.edit in versions.state.active]
    successors = versions.find_successors([edits[review.edit] for review in active])
    return [review for review in active if review.edit not in successors]
