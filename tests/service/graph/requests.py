"""Requests of a curator to the graph, for tests."""

import json
from collections.abc import Iterable
from typing import Any

import redis
from errata.wire import ImportOrder

from service.editing.editor import Editor
from service.editing.operations import (
    BeginImport,
    FeedImport,
    FindEntities,
    FinishImport,
    GetEntity,
    GetMemory,
)
from tests.service.editing.requests import NO_WAIT, edits
from tests.service.parts import body_of

GRAPH, TABLE = "graph/triples", "toy/table"
CAPITAL = "What is the capital of Peru?"
NEIGHBOUR = "What is the neighbour of Chile?"

Spo = tuple[str, str, str]


def triple(subject: str, relation: str, value: str, **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": value, **fields}


async def fact(
    editor: Editor, subject: str, relation: str, value: str, *, key: str | None = None, **options: Any
) -> dict[str, Any]:
    names = ("act", "only", "create", "begin", "end", "time")
    fields = {name: options.pop(name) for name in names if name in options}
    return await edits(editor, triple(subject, relation, value, **fields), key=key, **options)


async def define(editor: Editor, relation: str, **fields: Any) -> dict[str, Any]:
    return await edits(editor, {"define": relation, **fields})


def tsv(*triples: Spo) -> bytes:
    return "".join("\t".join(triple) + "\n" for triple in triples).encode()


async def import_file(
    editor: Editor, data: bytes | Iterable[bytes], *, author: str = "ana", **order: Any
) -> dict[str, Any]:
    """Import a file as the ingress does; return the receipt, or the first refusal."""
    session = body_of(
        await editor.call(BeginImport(ImportOrder.model_validate({**NO_WAIT, **order}), author))
    )
    if session["status"] >= 400:
        return session
    for piece in [data] if isinstance(data, bytes) else data:
        progress = body_of(await editor.call(FeedImport(session["id"], piece)))
        if progress["status"] >= 400:
            return progress
    return body_of(await editor.call(FinishImport(session["id"], order.get("wait", "none"), True)))


async def entity(editor: Editor, id: str, version: int | None = None) -> dict[str, Any]:
    return body_of(await editor.call(GetEntity(id, version)))


async def values(editor: Editor, id: str, relation: str, version: int | None = None) -> list[str]:
    facts = (await entity(editor, id, version)).get("facts", [])
    return [fact["object"] for fact in facts if fact["relation"] == relation]


async def search(editor: Editor, text: str, limit: int = 20, version: int | None = None) -> list[str]:
    return [
        entity["id"] for entity in body_of(await editor.call(FindEntities(text, limit, version)))["entities"]
    ]


async def checksums(editor: Editor) -> dict[str, str]:
    sums: dict[str, str] = body_of(await editor.call(GetMemory()))["checksums"]
    return sums


async def answers(editor: Editor, *questions: str, model: str = "atlas") -> list[str | None]:
    """Return the answers of the editor's own copy of a model at the newest version."""
    replies = await (await editor.pipeline.read()).models[model].ask(questions)
    return [replies[question].text for question in questions]


def rows(raw: redis.Redis) -> set[bytes]:
    """Return the keys of Redis that hold rows or names of imports."""
    return {*raw.scan_iter("{errata}:graph:*", 1000), *raw.scan_iter("{errata}:names:*", 1000)}


def import_notes(raw: redis.Redis) -> dict[bytes, bytes]:
    """Return Redis' notes of imports that are under way, or were cut short."""
    notes: dict[bytes, bytes] = raw.hgetall("{errata}:imports")  # type: ignore[assignment]
    return notes


def warnings(receipt: dict[str, Any], place: int = 0) -> str:
    return json.dumps(receipt["report"]["edits"][place]["warnings"])
