"""The plans that take back: a revert of one commit, or a rollback to an old version; either is a new commit."""

from __future__ import annotations

import asyncio

from errata.wire import RevertRequest, RollbackRequest

from service.editing.plans.base import Build, Draft, request_digest
from service.editing.state import EditorState, StateBuilder
from service.editing.timings import Timings
from service.ledger import fold
from service.ledger.commit import Kind


class RevertPlan:
    """POST /admin/reverts."""

    kind: Kind = "revert"

    def __init__(self, request: RevertRequest) -> None:
        self.message = request.message
        self.request = request_digest(
            "revert", request.model_dump(mode="json", include={"version", "message"})
        )
        self._version = request.version

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            change = await asyncio.to_thread(fold.revert, state.commits, self._version)
            return await builder.build(state, Draft(change, self._version))


class RollbackPlan:
    """POST /admin/rollbacks."""

    kind: Kind = "rollback"

    def __init__(self, request: RollbackRequest) -> None:
        self.message = request.message
        self.request = request_digest("rollback", request.model_dump(mode="json", include={"to", "message"}))
        self._to = request.to

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            change = await asyncio.to_thread(fold.rollback, state.commits, self._to)
            return await builder.build(state, Draft(change, self._to))
