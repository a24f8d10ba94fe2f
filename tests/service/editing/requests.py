"""What a curator asks of an editor in the tests, in few words."""

from __future__ import annotations

from typing import Any

from service.editing.deployment import Editor
from tests.service.parts import body_of

PERU = "What is the capital of Peru?"
FRANCE = "What is the capital of France?"
NO_WAIT = {"wait": "none"}  # there is no replica to wait for
JAPAN = "What is the capital of Japan?"


def item(question: str, answer: str, *paraphrases: str, model: str = "toy") -> dict[str, Any]:
    return {"question": question, "answer": answer, "paraphrases": list(paraphrases), "model": model}


async def edits(
    editor: Editor, *items: dict[str, Any], key: str | None = None, **options: Any
) -> dict[str, Any]:
    return body_of(await editor.edit({"edits": list(items), **NO_WAIT, **options}, "ana", key))


async def change(
    editor: Editor, question: str, answer: str, *paraphrases: str, **options: Any
) -> dict[str, Any]:
    return await edits(editor, item(question, answer, *paraphrases), **options)


async def revert(editor: Editor, version: int, key: str | None = None, **options: Any) -> dict[str, Any]:
    return body_of(await editor.revert({"version": version, **NO_WAIT, **options}, "ana", key))


async def rollback(editor: Editor, to: int, key: str | None = None, **options: Any) -> dict[str, Any]:
    return body_of(await editor.rollback({"to": to, **NO_WAIT, **options}, "ana", key))


async def checksum(editor: Editor) -> str:
    value: str = body_of(await editor.memory())["checksums"]["toy/table"]
    return value


async def head(editor: Editor) -> int:
    version: int = body_of(await editor.log(1))["head"]
    return version


def before_and_after(receipt: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    """What each edit of the report answered before and answers now."""
    return [(edit["before"], edit["after"]) for edit in receipt["report"]["edits"]]
