"""The options of a request, each of which goes to every memory that knows it, checked by the memory's own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from errata import wire
from pydantic import ValidationError

from models.memory import Memory, Options
from service.editing.models import Models
from service.errors import InvalidInput


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
            raise InvalidInput(
                f"the memory {memory.name!r} has no method {values['method']!r}: it has {methods}",
                field="method",
            ) from error
        raise InvalidInput(
            f"{name}: {first['msg']}, not {known_values[name]!r}", field=f"options.{name}"
        ) from error
