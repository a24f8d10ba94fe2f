"""The ledger for curators, from the editor's own state: it can be read while Redis is away."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from time import time
from typing import TYPE_CHECKING, Any

from errata import wire

from service.editing.draft import EditorState
from service.editing.evaluation.diff import diff_versions
from service.editing.evaluation.expectations import describe
from service.editing.evaluation.fact_tests import current_status
from service.editing.evaluation.lineage import find_successors, version_of
from service.editing.notes import ChangeNote, read_note
from service.editing.operations import (
    CompareVersions,
    GetEdit,
    GetMemory,
    GetVersion,
    ListActiveEdits,
    ListReplicas,
    ListVersions,
)
from service.editing.queries.items import MAX_ITEMS, Items
from service.editing.replication import live_replicas
from service.errors import InvalidInput, NotFound, TooLarge
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord

if TYPE_CHECKING:
    from service.editing.editor import Editor

HEAD_NOTES = (
    *("subject", "relation", "object", "act", "before"),
    *("define", "holds", "label", "source", "triples", "summary"),
)
SEARCHED_NOTES = ("subject", "relation", "object", "define", "label", "source")
MAX_HEAD_CHARS = 200  # characters of each text in the log
DAY_S, EPOCH = 86_400, date(1970, 1, 1)


@ListVersions.handler
async def list_versions(editor: Editor, call: ListVersions) -> wire.VersionLog:
    state = await editor.pipeline.at_hand()
    head = state.version
    last = head if call.before is None else min(call.before - 1, head)
    matches = (
        commit
        for commit in reversed(state.commits[: max(0, last)])
        if (call.author is None or commit.author.casefold() == call.author.casefold())
        and (call.since is None or commit.time >= call.since)
        and (call.grep is None or _mentions(commit, call.grep.casefold()))
    )
    commits = list(islice(matches, call.limit))
    summaries = [
        wire.VersionSummary(
            **_head(state, commit),
            edits=len(commit.edits),
            first=_first(state, commit),
            checksums=_checksums(commit),
        )
        for commit in commits
    ]
    return wire.VersionLog(versions=summaries, head=head, edits_by_day=_count_by_day(state, call.by_day))


def _count_by_day(state: EditorState, n_days: int) -> dict[date, int]:
    today = int(time() // DAY_S)
    counts = dict.fromkeys(range(today - n_days + 1, today + 1), 0)
    for commit in state.commits if n_days else ():
        if (day := int(commit.time // DAY_S)) in counts:
            counts[day] += len(commit.edits)
    return {EPOCH + timedelta(day): count for day, count in counts.items()}


@GetVersion.handler
async def show(editor: Editor, call: GetVersion) -> wire.VersionDetail:
    state = await editor.pipeline.at_hand()
    commit = fold.find(state.commits, call.version)
    successors = await find_successors(commit.edits, state, editor.models)
    edits = [_edit_state(state, edit, successors.get(edit.id)) for edit in commit.edits]
    return wire.VersionDetail(
        **_head(state, commit),
        edits=await editor.upkeep.note(edits),
        checksums=_checksums(commit),
        writes={
            memory: wire.WriteSummary(
                puts=len(write.puts), removes=len(write.removes), checksum=write.checksum
            )
            for memory, write in commit.writes.items()
        },
        report=dict(await editor.later.find(call.version, commit.unpack().report, call.wait_report)),
    )


def describe_edit(state: EditorState, id: str) -> wire.EditDetail:
    record = state.edits.get(id)
    if record is None:
        raise NotFound(f"there is no edit {id!r}: errata log shows what there is")
    commit = fold.find(state.commits, version_of(record))
    return wire.EditDetail(**_head(state, commit), edit=_edit_state(state, record))


@GetEdit.handler
async def show_edit(editor: Editor, call: GetEdit) -> wire.EditDetail:
    state = await editor.pipeline.at_hand()
    [detail] = await editor.upkeep.note_details([describe_edit(state, call.id)])
    successor = (await find_successors([state.edits[call.id]], state, editor.models)).get(call.id)
    if successor is None:
        return detail
    return detail.model_copy(update={"replaced_by": successor.id, "replaced_in": version_of(successor)})


def _edit_state(state: EditorState, edit: EditRecord, successor: EditRecord | None = None) -> wire.EditState:
    return wire.EditState(
        **{**describe(edit), "notes": dict(edit.notes)},
        id=edit.id,
        paraphrases=list(edit.paraphrases),
        counterexamples=list(edit.counterexamples),
        tests=[wire.KeptTest(question=test.question, answer=test.answer) for test in edit.tests],
        active=edit.id in state.active,
        replaced_in=version_of(successor) if successor else None,
    )


@GetMemory.handler
async def get_memory(editor: Editor, call: GetMemory) -> wire.MemoryState:
    state = await editor.pipeline.at_hand()
    status = await current_status(state.active_records, state.models)
    capacities = {
        name: editor.budget.describe([memory])
        for name, memory in state.memories.items()
        if memory.usage.slots_reserved is None  # otherwise the memory has no limit
    }
    return wire.MemoryState(
        version=state.version,
        checksums={name: memory.image.checksum for name, memory in state.memories.items()},
        edits=status.counts(len(state.edits)),
        capacities=capacities,
    )


@ListActiveEdits.handler
async def list_active_edits(editor: Editor, call: ListActiveEdits) -> wire.ActiveEditList:
    state, memory = await editor.pipeline.at_hand(), editor.models.fact_memory
    if call.memory:
        return _list_changes(
            await editor.builder.state_at(state, state.find_version(call.version)), call.memory
        )
    if call.version is not None:
        raise InvalidInput("a version is for the changes of one memory: name it, too", field="version")
    view, lookup = (state.memories[memory].view, editor.models.lookup) if memory else (None, None)
    return await Items(state, editor.models.memories, editor.builder.materials, lookup, view).collect()


def _list_changes(state: EditorState, memory: str) -> wire.ActiveEditList:
    """List the changes of one memory, in its own fields; answers and facts are in the whole list alone."""
    if memory not in state.memories:
        raise NotFound(f"there is no memory {memory!r} here: there is {', '.join(state.memories)}")
    edits = []
    for record in state.active_records.in_order:
        if record.memory == memory and isinstance(note := read_note(record), ChangeNote):
            commit = fold.find(state.commits, version_of(record))
            edits.append(
                wire.ActiveEdit(
                    id=record.id,
                    version=commit.version,
                    edit={"memory": record.memory, "kind": record.method, "change": dict(note.change)},
                    author=commit.author,
                    message=commit.message,
                )
            )
    if len(edits) > MAX_ITEMS:
        raise TooLarge(
            f"there are more than {MAX_ITEMS:,} changes: make a backup (errata backup)", limit=MAX_ITEMS
        )
    return wire.ActiveEditList(version=state.version, edits=edits)


@CompareVersions.handler
async def compare_versions(editor: Editor, call: CompareVersions) -> wire.Diff:
    state = await editor.pipeline.at_hand()
    pair = state.find_version(call.older), state.find_version(call.to)
    older, newer = [await editor.builder.state_at(state, version) for version in pair]
    return await diff_versions(older, newer, editor.side_effects, editor.models)


@ListReplicas.handler
async def list_replicas(editor: Editor, call: ListReplicas) -> wire.ReplicaList:
    head = await editor.ledger.head()
    return wire.ReplicaList(head=head, replicas=await live_replicas(editor.ledger, head))


def _head(state: EditorState, commit: Commit) -> dict[str, Any]:
    edits = commit.deactivates if commit.kind == "revert" and commit.target is None else ()
    return {
        "version": commit.version,
        "kind": commit.kind,
        "author": commit.author,
        "time": datetime.fromtimestamp(commit.time, UTC),
        "message": commit.message,
        "target": commit.target,
        "target_edits": edits,
        "target_versions": sorted({version_of(state.edits[id]) for id in edits}),
    }


def _first(state: EditorState, commit: Commit) -> wire.EditHead | None:
    """Return the first edit of a commit, or of those that a revert takes back, in short."""
    ids = (*commit.deactivates, *commit.activates) if commit.kind == "revert" else ()
    edits = commit.edits or [state.edits[id] for id in ids[:1]]
    if not edits:
        return None
    edit = edits[0]
    notes = {name: edit.notes[name] for name in HEAD_NOTES if name in edit.notes}
    return wire.EditHead(
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
