"""The ledger as a curator reads it, from the editor's own state: it works while Redis is away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from errata.wire import (
    EditHead,
    EditState,
    MemoryState,
    VersionDetail,
    VersionLog,
    VersionSummary,
    WriteSummary,
)

from service.editing.evaluation.expectations import describe
from service.editing.evaluation.fact_test_status import current_status
from service.editing.state import EditorState
from service.ledger import fold
from service.ledger.commit import Commit

HEAD_NOTES = ("subject", "relation", "object", "act", "define", "holds", "label", "source", "triples")
MAX_HEAD_CHARS = 200  # of each text in the log


@dataclass(frozen=True, eq=False)
class Versions:
    state: EditorState

    def log(self, limit: int, before: int | None) -> VersionLog:
        head = self.state.version
        last = head if before is None else min(before - 1, head)
        commits = self.state.commits[max(0, last - limit) : max(0, last)]
        summaries = [
            VersionSummary(
                **_head(commit), edits=len(commit.edits), first=_first(commit), checksums=_checksums(commit)
            )
            for commit in reversed(commits)
        ]
        return VersionLog(versions=summaries, head=head)

    def show(self, version: int) -> VersionDetail:
        commit = fold.find(self.state.commits, version)
        return VersionDetail(
            **_head(commit),
            edits=[
                EditState(
                    **{**describe(edit), "notes": dict(edit.notes)},
                    id=edit.id,
                    paraphrases=list(edit.paraphrases),
                    active=edit.id in self.state.active,
                )
                for edit in commit.edits
            ],
            checksums=_checksums(commit),
            writes={
                memory: WriteSummary(
                    puts=len(write.puts), removes=len(write.removes), checksum=write.checksum
                )
                for memory, write in commit.writes.items()
            },
            report=dict(commit.unpack().report),
        )

    async def memory(self) -> MemoryState:
        state = self.state
        status = await current_status(state.active_edits(), state.edits, state.models)
        checksums = {name: memory.image.checksum for name, memory in state.memories.items()}
        counts = status.counts(len(state.edits))
        return MemoryState(version=state.version, checksums=checksums, edits=counts)

    def check_exists(self, version: int) -> int:
        """The version itself, 0 included. NotFound when there is none."""
        return version and fold.find(self.state.commits, version).version


def _head(commit: Commit) -> dict[str, Any]:
    return {
        "version": commit.version,
        "kind": commit.kind,
        "author": commit.author,
        "time": datetime.fromtimestamp(commit.time, UTC),
        "message": commit.message,
        "target": commit.target,
    }


def _checksums(commit: Commit) -> dict[str, str]:
    return {memory: write.checksum for memory, write in commit.writes.items()}


def _first(commit: Commit) -> EditHead | None:
    """What the commit is about: its first edit, in short."""
    if not commit.edits:
        return None
    edit = commit.edits[0]
    notes = {name: edit.notes[name] for name in HEAD_NOTES if name in edit.notes}
    return EditHead(
        question=edit.question[:MAX_HEAD_CHARS],
        notes={name: v[:MAX_HEAD_CHARS] if isinstance(v, str) else v for name, v in notes.items()},
    )
