"""Changes in a memory's own words: fields that only the memory knows, checked by its own models and on a version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from errata import wire
from pydantic import ValidationError

from models.memory import ChecksFields, Fields, Memory, TakesFields
from service.editing.draft import Build, EditorState
from service.editing.models import Models
from service.editing.notes import ChangeNote
from service.editing.planned_edit import PlannedEdit
from service.errors import EditRefused, ErrataError, InvalidInput, NotFound


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
        raise InvalidInput(
            f"{model} does not read {item.memory}: ask one of {', '.join(readers)}", field=f"{where}.model"
        )
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
