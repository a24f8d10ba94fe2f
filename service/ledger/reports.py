"""The completed reports of commits.

A commit is written before all of its effects are measured, and is never changed; its completed report is kept here,
compressed. Without an entry the commit's own report is all there is.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from service.ledger import keys
from service.ledger.commit import canonical
from service.ledger.connection import Connection


class StoredReport(BaseModel, frozen=True):
    version: int
    report: Mapping[str, Any]


class Reports:
    """The completed reports of one ledger. Every call ends within the connection's time limit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands

    async def put(self, report: StoredReport) -> None:
        """Keep a report in place of an earlier one of the version."""
        data = zlib.compress(canonical(report.report), 1)
        await self._connection.send(
            "keep a report", self._redis.hset(keys.REPORTS, str(report.version), data)
        )

    async def find(self, *versions: int) -> list[StoredReport]:
        """Return the completed reports of these versions, as far as there are any."""
        entries = await self._connection.send(
            "look for reports", self._redis.hmget(keys.REPORTS, list(map(str, versions)))
        )
        return [
            StoredReport(version=version, report=json.loads(zlib.decompress(data)))
            for version, data in zip(versions, entries, strict=True)
            if data is not None
        ]
