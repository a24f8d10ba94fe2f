"""The plan of a revert of one commit, or of a rollback to an old version; each is a new commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from errata.wire import RevertRequest, RollbackRequest

from service.editing.draft import Build, Draft, request_digest
from service.editing.state import EditorState
from service.editing.state_builder import StateBuilder
from service.editing.timings import Timings
from service.ledger import fold
from service.ledger.commit import Commit, Kind


class UndoPlan:
    """The plan of POST /admin/reverts and /admin/rollbacks."""

    def __init__(self, request: RevertRequest | RollbackRequest) -> None:
        self.kind: Kind
        self._change: Callable[[Sequence[Commit], int], fold.Change]
        if isinstance(request, RevertRequest):
            self.kind, self._change, self._version, field = "revert", fold.revert, request.version, "version"
        else:
            self.kind, self._change, self._version, field = "rollback", fold.rollback, request.to, "to"
        self.message = request.message
        content = request.model_dump(mode="json", include={field, "message"})
        self.request = request_digest(self.kind, content)

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            change = await asyncio.to_thread(self._change, state.commits, self._version)
            return await builder.build(state, Draft(change, self._version))
