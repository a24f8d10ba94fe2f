"""The ledger for curators, from the editor's own state: it can be read while Redis is away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from time import time
from typing import Any

from errata.wire import (
    EditDetail,
    EditHead,
    EditState,
    KeptTest,
    MemoryState,
    VersionDetail,
    VersionLog,
    VersionSummary,
    WriteSummary,
)

from service.editing.draft import EditorState
from service.editing.evaluation.capacity import SlotBudget
from service.editing.evaluation.expectations import describe
from service.editing.evaluation.fact_test_status import current_status
from service.editing.evaluation.fact_tests import FactTest, Successors, version_of
from service.errors import NotFound
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord, Triple

HEAD_NOTES = (
    *("subject", "relation", "object", "act", "before"),
    *("define", "holds", "label", "source", "triples", "summary"),
)
SEARCHED_NOTES = ("subject", "relation", "object", "define", "label", "source")
MAX_HEAD_CHARS = 200  # characters of each text in the log
DAY_S, EPOCH = 86_400, date(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class Versions:
    state: EditorState

    def log(
        self,
        limit: int,
        before: int | None,
        grep: str | None = None,
        author: str | None = None,
        since: float | None = None,
        by_day: int = 0,
    ) -> VersionLog:
        """List commits, the newest first.

        Args:
            limit: Largest number of commits.
            before: Version that the listed ones are older than.
            grep: A text in the message, or in a question, an answer or a fact of the commit; its case does not matter.
            author: Author of the commits; its case does not matter.
            since: Time of the oldest commit, in seconds since 1970.
            by_day: Number of days, today the last, whose edits are counted.
        """
        head = self.state.version
        last = head if before is None else min(before - 1, head)
        matches = (
            commit
            for commit in reversed(self.state.commits[: max(0, last)])
            if (author is None or commit.author.casefold() == author.casefold())
            and (since is None or commit.time >= since)
            and (grep is None or _mentions(commit, grep.casefold()))
        )
        commits = list(islice(matches, limit))
        summaries = [
            VersionSummary(
                **self._head(commit),
                edits=len(commit.edits),
                first=self._first(commit),
                checksums=_checksums(commit),
            )
            for commit in commits
        ]
        return VersionLog(versions=summaries, head=head, edits_by_day=self._count_by_day(by_day))

    def _count_by_day(self, n_days: int) -> dict[date, int]:
        """Count the edits of each of the last days in UTC, today's last."""
        today = int(time() // DAY_S)
        counts = dict.fromkeys(range(today - n_days + 1, today + 1), 0)
        for commit in self.state.commits if n_days else ():
            if (day := int(commit.time // DAY_S)) in counts:
                counts[day] += len(commit.edits)
        return {EPOCH + timedelta(day): count for day, count in counts.items()}

    def show(self, version: int) -> VersionDetail:
        commit = fold.find(self.state.commits, version)
        successors = self.find_successors(commit.edits)
        return VersionDetail(
            **self._head(commit),
            edits=[self._edit_state(edit, successors.get(edit.id)) for edit in commit.edits],
            checksums=_checksums(commit),
            writes={
                memory: WriteSummary(
                    puts=len(write.puts), removes=len(write.removes), checksum=write.checksum
                )
                for memory, write in commit.writes.items()
            },
            report=dict(commit.unpack().report),
        )

    def edit(self, id: str) -> EditDetail:
        """Return one edit with the head of its commit.

        Raises:
            NotFound: There is no such edit.
        """
        record = self.state.edits.get(id)
        if record is None:
            raise NotFound(f"there is no edit {id!r}: errata log shows what there is")
        commit = fold.find(self.state.commits, version_of(record))
        return EditDetail(**self._head(commit), edit=self._edit_state(record))

    def show_edit(self, id: str) -> EditDetail:
        """Return one edit as `edit` does, with the edit that took its place."""
        detail, record = self.edit(id), self.state.edits[id]
        successor = self.find_successors([record]).get(id)
        if successor is None:
            return detail
        return detail.model_copy(update={"replaced_by": successor.id, "replaced_in": version_of(successor)})

    def find_successors(self, edits: Sequence[EditRecord]) -> dict[str, EditRecord]:
        """Return the active edit that took the place of each of these that is active, where there is one."""
        active = [edit for edit in edits if edit.id in self.state.active]
        tests = [FactTest(edit, 0) for edit in active if edit.question]
        by_wording = Successors(self.state.active_records, tests)
        successors = {
            test.record.id: edit for test in tests if (edit := by_wording.of(test, None)) is not None
        }
        has_facts = any(edit.triple for edit in active)
        last: dict[
            tuple[str, ...], tuple[EditRecord, Triple]
        ] = {}  # the last to set a relation, to remove a value
        for edit in self.state.active_records.in_order if has_facts else ():
            if (triple := edit.triple) and triple.act != "add":
                value = (triple.object,) if triple.act == "remove" else ()
                last[triple.subject, triple.relation, *value] = edit, triple
        for edit in active:
            if (triple := edit.triple) and triple.act != "remove":
                key = triple.subject, triple.relation
                for other, by in filter(None, (last.get(key), last.get((*key, triple.object)))):
                    is_set_again = by.act == "set" and by.object == triple.object
                    if other.order > edit.order and not is_set_again:
                        successors[edit.id] = other
        return successors

    def _edit_state(self, edit: EditRecord, successor: EditRecord | None = None) -> EditState:
        return EditState(
            **{**describe(edit), "notes": dict(edit.notes)},
            id=edit.id,
            paraphrases=list(edit.paraphrases),
            counterexamples=list(edit.counterexamples),
            tests=[KeptTest(question=test.question, answer=test.answer) for test in edit.tests],
            active=edit.id in self.state.active,
            replaced_in=version_of(successor) if successor else None,
        )

    async def memory(self, budget: SlotBudget) -> MemoryState:
        state = self.state
        status = await current_status(state.active_records, state.models)
        checksums = {name: memory.image.checksum for name, memory in state.memories.items()}
        counts = status.counts(len(state.edits))
        capacities = {
            name: budget.describe([memory])
            for name, memory in state.memories.items()
            if memory.usage.slots_reserved is None  # otherwise the memory has no limit
        }
        return MemoryState(version=state.version, checksums=checksums, edits=counts, capacities=capacities)

    def check_exists(self, version: int) -> int:
        """Return an existing version, 0 included.

        Raises:
            NotFound: There is no such version.
        """
        return version and fold.find(self.state.commits, version).version

    def _head(self, commit: Commit) -> dict[str, Any]:
        edits = commit.deactivates if commit.kind == "revert" and commit.target is None else ()
        return {
            "version": commit.version,
            "kind": commit.kind,
            "author": commit.author,
            "time": datetime.fromtimestamp(commit.time, UTC),
            "message": commit.message,
            "target": commit.target,
            "target_edits": edits,
            "target_versions": sorted({version_of(self.state.edits[id]) for id in edits}),
        }

    def _first(self, commit: Commit) -> EditHead | None:
        """Return the first edit of a commit, or of those that a revert takes back, in short."""
        ids = (*commit.deactivates, *commit.activates) if commit.kind == "revert" else ()
        edits = commit.edits or [self.state.edits[id] for id in ids[:1]]
        if not edits:
            return None
        edit = edits[0]
        notes = {name: edit.notes[name] for name in HEAD_NOTES if name in edit.notes}
        return EditHead(
            question=edit.question[:MAX_HEAD_CHARS],
            answer=edit.answer[:MAX_HEAD_CHARS],
            notes={name: v[:MAX_HEAD_CHARS] if isinstance(v, str) else v for name, v in notes.items()},
        )


def _mentions(commit: Commit, text: str) -> bool:
    """Return whether a commit has a text in its message, or in a question, an answer or a fact."""
    texts = [commit.message]
    for edit in commit.edits:
        fact = " ".join(str(edit.notes[name]) for name in SEARCHED_NOTES if edit.notes.get(name))
        texts += [*edit.wordings, edit.answer, fact]
    return any(text in part.casefold() for part in texts)


def _checksums(commit: Commit) -> dict[str, str]:
    return {memory: write.checksum for memory, write in commit.writes.items()}
