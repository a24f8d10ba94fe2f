"""The ledger as a curator reads it: the log, one commit, what two versions answer differently, how edits stand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from errata.wire import (
    Change,
    Diff,
    EditCounts,
    EditState,
    MemoryState,
    VersionDetail,
    VersionLog,
    VersionSummary,
    WriteSummary,
)

from models.system import System
from service.editing.facttests import superseded
from service.editing.known import Known
from service.editing.questions import ask
from service.errors import NotFound
from service.ledger.commit import Commit, EditRecord


def log(known: Known, limit: int, before: int | None) -> VersionLog:
    last = known.head if before is None else min(before - 1, known.head)
    commits = known.commits[max(0, last - limit) : last]
    return VersionLog(versions=[_summary(commit) for commit in reversed(commits)], head=known.head)


def show(known: Known, version: int) -> VersionDetail:
    commit = known.commits[_existing(known, version) - 1]
    active = known.active_at(known.head)
    return VersionDetail(
        **_head(commit),
        checksums=_checksums(commit),
        edits=[_state(record, active) for record in commit.edits],
        writes={
            memory: WriteSummary(puts=len(w.puts), removes=len(w.removes), checksum=w.checksum)
            for memory, w in commit.writes.items()
        },
        report=dict(commit.report),
    )


def diff(known: Known, systems: dict[str, System], older: int, newer: int) -> Diff:
    """What the edits of two versions change, answered by folding both: exact, and without Redis."""
    for version in (older, newer):
        _existing(known, version)
    there, here = known.active_at(older), known.active_at(newer)
    before, after = known.folded(list(there.values())), known.folded(list(here.values()))
    touched = [there.get(e) or here[e] for e in {**there, **here} if (e in there) != (e in here)]
    changes = []
    for system in systems.values():
        mine = sorted((r for r in touched if r.memory == system.memory), key=lambda record: record.order)
        questions = [record.question for record in mine]
        was = ask(system, system.view(before[system.memory]), questions)
        now = ask(system, system.view(after[system.memory]), questions)
        added = {record.question for record in mine if record.id in here}
        removed = {record.question for record in mine if record.id in there}
        for record, old, new in zip(mine, was, now, strict=True):
            kind = _kind(record, record.id in here, added & removed)
            if kind is not None:
                changes.append(
                    Change(
                        question=record.question,
                        before=old.answer,
                        after=new.answer,
                        edit=record.id,
                        change=kind,
                    )
                )
    differ = {memory: before[memory].checksum != after[memory].checksum for memory in before}
    return Diff(from_version=older, to_version=newer, changes=changes, checksums_differ=differ)


def _kind(record: EditRecord, is_added: bool, on_both_sides: set[str]) -> Any:
    """One line for a question that one edit left and another joined."""
    if record.question in on_both_sides:
        return "replaced" if is_added else None
    return "added" if is_added else "removed"


def memory(known: Known) -> MemoryState:
    active = list(known.active_at(known.head).values())
    hidden = len(superseded(active))
    return MemoryState(
        version=known.head,
        checksums={name: image.checksum for name, image in known.images.items()},
        edits=EditCounts(
            active=len(active) - hidden, reverted=len(known.edits) - len(active), superseded=hidden
        ),
    )


def _existing(known: Known, version: int) -> int:
    if not 0 <= version <= known.head:
        detail = f"there is no version {version}: the newest is {known.head}"
        raise NotFound(detail, version=version, head=known.head)
    return version


def _head(commit: Commit) -> dict[str, Any]:
    return {
        "version": commit.version,
        "kind": commit.kind,
        "author": commit.author,
        "time": datetime.fromtimestamp(commit.time, UTC),
        "message": commit.message,
        "target": commit.target,
    }


def _summary(commit: Commit) -> VersionSummary:
    return VersionSummary(**_head(commit), edits=len(commit.edits), checksums=_checksums(commit))


def _checksums(commit: Commit) -> dict[str, str]:
    return {memory: write.checksum for memory, write in commit.writes.items()}


def _state(record: EditRecord, active: dict[str, EditRecord]) -> EditState:
    return EditState(
        id=record.id,
        question=record.question,
        answer=record.answer,
        paraphrases=list(record.paraphrases),
        method=record.method,
        active=record.id in active,
    )
