"""Review dates: the day on which a person looks at an edit again.

A date changes no answer, so it is no part of the history and may be moved. Nothing is switched off by it. No other
module names this key:

    {errata}:reviews   zset   edit -> its day, as the number of days since the first of January of the year 1

A date is written before the commit of its edit, so that a crash between the two loses
none; the date of an edit that was never made, or was taken back, is never listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from pydantic import BaseModel

from service.errors import InvalidInput
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

KEY = PREFIX + "reviews"


class Review(BaseModel, frozen=True):
    """The day on which a person looks at an edit again."""

    edit: str
    on: date


class Reviews:
    """The review dates of one ledger. Every call ends within the connection's limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._redis = connection, connection.commands

    async def put(self, reviews: Sequence[Review]) -> None:
        """Set the dates of edits, in place of earlier ones."""
        if reviews:
            days = {review.edit: review.on.toordinal() for review in reviews}
            await self._connection.send("keep review dates", self._redis.zadd(KEY, days))

    async def remove(self, edit: str) -> None:
        """Take an edit's date away, if it has one."""
        await self._connection.send("take a review date away", self._redis.zrem(KEY, edit))

    async def find(self, edits: Sequence[str]) -> dict[str, date]:
        """Return the dates of those of the edits that have one."""
        days = await self._connection.send_all("read review dates", "zscore", ((KEY, id) for id in edits))
        return {
            edit: date.fromordinal(int(day)) for edit, day in zip(edits, days, strict=True) if day is not None
        }

    async def list_until(self, last: date = date.max) -> list[Review]:
        """Return the dates up to a day, the earliest first."""
        pairs = await self._connection.send(
            "list review dates",
            self._redis.zrange(KEY, "-inf", last.toordinal(), byscore=True, withscores=True),
        )
        return [Review(edit=edit.decode(), on=date.fromordinal(int(day))) for edit, day in pairs]


def find_today() -> date:
    """Return the day in UTC."""
    return datetime.now(UTC).date()


def check_day(on: date | None) -> None:
    """Raise InvalidInput if a day is past."""
    if on is not None and on < find_today():
        raise InvalidInput(f"{on} is past: give today or a later day", field="review")
