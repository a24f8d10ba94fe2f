"""What a curator asks of the graph in the tests, in few words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import redis

from service.editing.deployment import Editor
from tests.service.editing.requests import NOBODY, edits
from tests.service.parts import said

GRAPH, TABLE = "graph/triples", "toy/table"
CAPITAL, CURRENCY = "What is the capital of Peru?", "What is the currency of Peru?"
NEIGHBOUR = "What is the neighbour of Chile?"

Spo = tuple[str, str, str]


def triple(subject: str, relation: str, value: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": value, **more}


async def fact(
    editor: Editor, subject: str, relation: str, value: str, *, key: str | None = None, **more: Any
) -> dict[str, Any]:
    own = {name: more.pop(name) for name in ("act", "only") if name in more}
    return await edits(editor, triple(subject, relation, value, **own), key=key, **more)


async def define(editor: Editor, relation: str, **what: Any) -> dict[str, Any]:
    return await edits(editor, {"define": relation, **what})


def tsv(*triples: Spo) -> bytes:
    return "".join("\t".join(one) + "\n" for one in triples).encode()


async def imported(
    editor: Editor, data: bytes | Iterable[bytes], *, author: str = "ana", **order: Any
) -> dict[str, Any]:
    """As the ingress does it: the receipt, or the first refusal."""
    begun = said(await editor.import_begin({**NOBODY, **order}, author))
    if begun["status"] >= 400:
        return begun
    for piece in [data] if isinstance(data, bytes) else data:
        fed = said(await editor.import_feed(begun["import"], piece))
        if fed["status"] >= 400:
            return fed
    return said(await editor.import_finish(begun["import"], order.get("wait", "none")))


async def entity(editor: Editor, id: str, version: int | None = None) -> dict[str, Any]:
    return said(await editor.entity(id, version))


async def values(editor: Editor, id: str, relation: str, version: int | None = None) -> list[str]:
    found = await entity(editor, id, version)
    return [one["object"] for one in found.get("facts", []) if one["relation"] == relation]


async def search(editor: Editor, text: str, limit: int = 20, version: int | None = None) -> list[str]:
    return [one["id"] for one in said(await editor.entities(text, limit, version))["entities"]]


async def checksums(editor: Editor) -> dict[str, str]:
    found: dict[str, str] = said(await editor.memory())["checksums"]
    return found


async def answers(editor: Editor, *questions: str, model: str = "atlas") -> list[str | None]:
    """What the editor's own copy of a model says at the newest version."""
    replies = await (await editor._pipeline.read()).models[model].ask(questions)
    return [replies[question].text for question in questions]


def rows(raw: redis.Redis) -> set[bytes]:
    """Keys of Redis that hold rows or names of imports."""
    return {*raw.scan_iter("{errata}:graph:*", 1000), *raw.scan_iter("{errata}:names:*", 1000)}


def noted(raw: redis.Redis) -> dict[bytes, bytes]:
    """What Redis says of imports that are under way, or were cut short."""
    found: dict[bytes, bytes] = raw.hgetall("{errata}:imports")  # type: ignore[assignment]
    return found


def warnings(receipt: dict[str, Any], place: int = 0) -> str:
    return json.dumps(receipt["report"]["edits"][place]["warnings"])
