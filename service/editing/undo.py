"""Taking back: a revert of one commit, or a return to an old version; either is a new commit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from errata.wire import RevertRequest, RollbackRequest

from service.editing.edit import digest
from service.ledger import fold
from service.ledger.commit import Kind
from service.measuring.draft import Draft
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.stopwatch import Stopwatch


class Reverting:
    """The plan of POST /admin/reverts."""

    kind: Kind = "revert"

    def __init__(self, asked: RevertRequest) -> None:
        self.message = asked.message
        self.request = digest("revert", asked.model_dump(mode="json", include={"version", "message"}))
        self._version = asked.version

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        with watch.part("editor"):
            change = await asyncio.to_thread(fold.revert, present.commits, self._version)
        return Draft(change, self._version)

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        return True


class RollingBack:
    """The plan of POST /admin/rollbacks."""

    kind: Kind = "rollback"

    def __init__(self, asked: RollbackRequest) -> None:
        self.message = asked.message
        self.request = digest("rollback", asked.model_dump(mode="json", include={"to", "message"}))
        self._to = asked.to

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        with watch.part("editor"):
            change = await asyncio.to_thread(fold.rollback, present.commits, self._to)
        return Draft(change, self._to)

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        return True
