"""The ledger as a curator reads it, from the writer's own copy: it works while Redis is away."""

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

from service.errors import NotFound
from service.ledger.commit import Commit, EditRecord
from service.measuring.present import Present
from service.measuring.standing import standing

NOTED = (
    "subject",
    "relation",
    "object",
    "act",
    "define",
    "holds",
    "label",
    "source",
    "triples",
)  # in the log
MOST_LETTERS = 200  # of each


@dataclass(frozen=True, eq=False)
class History:
    present: Present

    def log(self, limit: int, before: int | None) -> VersionLog:
        head = self.present.version
        last = head if before is None else min(before - 1, head)
        commits = self.present.commits[max(0, last - limit) : max(0, last)]
        return VersionLog(versions=[_summary(commit) for commit in reversed(commits)], head=head)

    def show(self, version: int) -> VersionDetail:
        commit = self._commit(version)
        return VersionDetail(
            **_head(commit),
            edits=[self._edit(edit) for edit in commit.edits],
            checksums=_checksums(commit),
            writes={
                memory: WriteSummary(
                    puts=len(write.puts), removes=len(write.removes), checksum=write.checksum
                )
                for memory, write in commit.writes.items()
            },
            report=dict(commit.opened().report),
        )

    async def memory(self) -> MemoryState:
        present = self.present
        counts = (await standing(present.active_edits(), present.edits, present.readings)).counts(
            len(present.edits)
        )
        checksums = {one.system.memory: one.image.checksum for one in present.readings.values()}
        return MemoryState(version=present.version, checksums=checksums, edits=counts)

    def existing(self, version: int) -> int:
        """The version itself, 0 included. NotFound when there is none."""
        return version and self._commit(version).version

    def _commit(self, version: int) -> Commit:
        head = self.present.version
        if not 1 <= version <= head:
            raise NotFound(f"there is no version {version}: the newest is {head}", version=version, head=head)
        return self.present.commits[version - 1]

    def _edit(self, edit: EditRecord) -> EditState:
        return EditState(
            id=edit.id,
            question=edit.question,
            answer=edit.answer,
            paraphrases=list(edit.paraphrases),
            method=edit.method,
            model=edit.model,
            memory=edit.memory,
            notes=dict(edit.notes),
            active=edit.id in self.present.active,
        )


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


def _summary(commit: Commit) -> VersionSummary:
    return VersionSummary(
        **_head(commit), edits=len(commit.edits), first=_first(commit), checksums=_checksums(commit)
    )


def _first(commit: Commit) -> EditHead | None:
    if not commit.edits:
        return None
    edit = commit.edits[0]
    notes = {name: edit.notes[name] for name in NOTED if name in edit.notes}
    return EditHead(
        question=edit.question[:MOST_LETTERS],
        notes={name: said[:MOST_LETTERS] if isinstance(said, str) else said for name, said in notes.items()},
    )
