"""The parts of a request that only memories know, checked by their own models: options, and changes of their fields.

The plan of a revert of one commit or of single edits, or of a rollback to an old version; each is a new commit.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from errata import wire
from pydantic import ValidationError

from models.memory import ChecksFields, Fields, Memory, Options, TakesFields
from service.editing.draft import Build, Draft, EditorState, PlannedEdit, request_digest
from service.editing.figures import Timings
from service.editing.models import Models
from service.editing.notes import ChangeNote
from service.editing.state_builder import StateBuilder
from service.errors import EditRefused, ErrataError, InvalidInput, NotFound
from service.ledger import fold
from service.ledger.commit import Commit, Kind


def resolve_options(request: wire.EditRequest, models: Models) -> dict[str, Options]:
    """Return the options of each memory that the request may write, by its name.

    An option goes to every memory that knows it.
    """
    values: dict[str, Any] = dict(request.options)
    if request.method is not None:
        if "method" in values:
            raise InvalidInput("`method` is given twice: leave it out of `options`", field="options.method")
        values["method"] = request.method
    has_facts = any(isinstance(item, wire.FactItem | wire.RelationItem) for item in request.edits)
    named_models = {item.model for item in request.edits if isinstance(item, wire.EditItem)}
    by_name = {m.name: m for model, m in models.answer_memories.items() if has_facts or model in named_models}
    if has_facts and models.fact_memory:
        by_name[models.fact_memory] = models.memories[models.fact_memory]
    by_name |= {
        item.memory: models.memories[item.memory]
        for item in request.edits
        if isinstance(item, wire.MemoryItem) and item.memory in models.memories
    }
    memories = list(by_name.values())
    names = {name for memory in memories for name in memory.options.names()}
    unknown = next((name for name in values if name not in names), None)
    if unknown is not None and memories:
        names_of_memories = ", ".join(memory.name for memory in memories)
        detail = f"it has {', '.join(sorted(names))}" if names else "it has none"
        field = "method" if unknown == "method" and request.method is not None else f"options.{unknown}"
        raise InvalidInput(f"{names_of_memories} has no option {unknown!r}: {detail}", field=field)
    return {memory.name: _validate(memory, values) for memory in memories}


def _validate(memory: Memory, values: Mapping[str, Any]) -> Options:
    known_values = {name: value for name, value in values.items() if name in memory.options.names()}
    try:
        return memory.options.model_validate(known_values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        if name not in known_values:  # a rule of several options together
            raise InvalidInput(f"options: {first['msg']}", field="options") from error
        if name == "method":
            methods = ", ".join(memory.options.methods())
            detail = f"the memory {memory.name!r} has no method {values['method']!r}: it has {methods}"
            raise InvalidInput(detail, field="method") from error
        raise InvalidInput(
            f"{name}: {first['msg']}, not {known_values[name]!r}", field=f"options.{name}"
        ) from error


def plan_change(item: wire.MemoryItem, place: int, models: Models) -> PlannedEdit:
    where = f"edits.{place}"
    memory = models.memories.get(item.memory)
    if memory is None:
        names = ", ".join(models.memories)
        raise InvalidInput(
            f"there is no memory {item.memory!r} here: there is {names}", field=f"{where}.memory"
        )
    readers = models.readers_of(item.memory)
    model = item.model or readers[0]
    models.system(model)
    if model not in readers:
        detail = f"{model} does not read {item.memory}: ask one of {', '.join(readers)}"
        raise InvalidInput(detail, field=f"{where}.model")
    fields = _read_fields(item, memory, where)
    summary = fields.summarize()
    return PlannedEdit(
        place=place,
        model=model,
        memory=memory.name,
        method=item.kind,
        question=item.question or "",
        answer=item.answer or summary,
        given_paraphrases=tuple(item.paraphrases),
        fields=fields,
        note=ChangeNote(fields.outline(), summary, fields.warnings() or None),
    )


def _read_fields(item: wire.MemoryItem, memory: Memory, where: str) -> Fields:
    kinds = dict(memory.fields) if isinstance(memory, TakesFields) else {}
    kind = next((kind for kind in kinds if kind == item.kind), None)
    if kind is None:
        offer = f"it takes {', '.join(sorted(kinds))}" if kinds else "it takes no change of its own kind"
        raise InvalidInput(f"{memory.name} takes no {item.kind!r}: {offer}", field=f"{where}.kind")
    try:
        return kinds[kind].model_validate(item.change)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        field = f"{where}.change.{name}" if name else f"{where}.change"
        raise InvalidInput(f"{name or item.kind}: {first['msg']}", field=field) from error


async def find_unfit(
    edits: Sequence[PlannedEdit],
    state: EditorState,
    models: Models,
    build: Callable[[Sequence[PlannedEdit]], Awaitable[Build]],
) -> dict[int, ErrataError]:
    """Find the changes that their memory does not take on this version, by place in the request.

    Args:
        edits: The edits in the order of the request; each is checked after those before it of the same subject.
        build: Returns the memories with some of these edits.
    """
    unfit: dict[int, ErrataError] = {}
    by_subject: dict[tuple[str, str], list[PlannedEdit]] = defaultdict(list)
    for edit in edits:
        memory = models.memories[edit.memory]
        if edit.fields is None or not isinstance(memory, ChecksFields):
            continue
        earlier = by_subject[edit.memory, edit.fields.subject()]
        memories = (await build(earlier)).memories if earlier else state.memories
        refusal = await models.run(memory.check, edit.fields, memories[memory.name].view)
        if refusal is None:
            earlier.append(edit)
        else:
            is_unknown = refusal.code == NotFound.code
            unfit[edit.place] = (
                NotFound(refusal.detail) if is_unknown else EditRefused(refusal.detail, reason=refusal.code)
            )
    return unfit


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
        content = request.model_dump(mode="json", include={field, "message"})
        self.request = request_digest(self.kind, content)

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            change = await asyncio.to_thread(self._change, state.commits)
            return await builder.build(state, Draft(change, self._target))
