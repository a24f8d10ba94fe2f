"""What a curator asks of an editor in the tests, in few words."""

from __future__ import annotations

from typing import Any

from service.editing.deployment import Editor
from tests.service.parts import said

PERU = "What is the capital of Peru?"
FRANCE = "What is the capital of France?"
NOBODY = {"wait": "none"}  # there is no replica to wait for
JAPAN = "What is the capital of Japan?"


def item(question: str, answer: str, *paraphrases: str, model: str = "toy") -> dict[str, Any]:
    return {"question": question, "answer": answer, "paraphrases": list(paraphrases), "model": model}


async def edits(
    editor: Editor, *items: dict[str, Any], key: str | None = None, **more: Any
) -> dict[str, Any]:
    return said(await editor.edit({"edits": list(items), **NOBODY, **more}, "ana", key))


async def change(
    editor: Editor, question: str, answer: str, *paraphrases: str, **more: Any
) -> dict[str, Any]:
    return await edits(editor, item(question, answer, *paraphrases), **more)


async def revert(editor: Editor, version: int, key: str | None = None, **more: Any) -> dict[str, Any]:
    return said(await editor.revert({"version": version, **NOBODY, **more}, "ana", key))


async def rollback(editor: Editor, to: int, key: str | None = None, **more: Any) -> dict[str, Any]:
    return said(await editor.rollback({"to": to, **NOBODY, **more}, "ana", key))


async def checksum(editor: Editor) -> str:
    found: str = said(await editor.memory())["checksums"]["toy/table"]
    return found


async def head(editor: Editor) -> int:
    version: int = said(await editor.log(1))["head"]
    return version


def became(receipt: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    """What each edit of the report answered before and answers now."""
    return [(one["before"], one["after"]) for one in receipt["report"]["edits"]]
