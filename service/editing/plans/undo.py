"""The plan of a revert of one commit or of single edits, or of a rollback to an old version; each is a new commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from errata import wire

from service.editing.draft import Build, Draft, EditorState, request_digest
from service.editing.figures import Timings
from service.editing.state_builder import StateBuilder
from service.ledger import fold
from service.ledger.commit import Commit, Kind


class UndoPlan:
    """The plan of POST /admin/reverts and /admin/rollbacks."""

    def __init__(self, request: wire.RevertRequest | wire.RollbackRequest) -> None:
        self.kind: Kind
        self._change: Callable[[Sequence[Commit]], fold.Change]
        self._target: int | None = None
        if isinstance(request, wire.RollbackRequest):
            self.kind, self._target, field = "rollback", request.to, "to"
            self._change = partial(fold.rollback, to=request.to)
        elif request.version is not None:
            self.kind, self._target, field = "revert", request.version, "version"
            self._change = partial(fold.revert, version=request.version)
        else:
            self.kind, field = "revert", "edits"
            self._change = partial(fold.revert_edits, ids=request.edits)
        self.message = request.message
        self.request = request_digest(self.kind, request.model_dump(mode="json", include={field, "message"}))

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            change = await asyncio.to_thread(self._change, state.commits)
            return await builder.build(state, Draft(change, self._target))
