"""Requests of edits, and random histories of them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from errata.wire import CheckReport, Diff, EditRequest, RevertRequest, RollbackRequest
from hypothesis import strategies as st

from service.editing.editor import Editor
from service.editing.operations import (
    CompareVersions,
    Edit,
    GetChecks,
    GetMemory,
    ListVersions,
    RunChecks,
    Undo,
)
from tests.service.parts import body_of

PERU = "What is the capital of Peru?"
FRANCE = "What is the capital of France?"
NO_WAIT = {"wait": "none", "wait_report": True}  # there is no replica to wait for
JAPAN = "What is the capital of Japan?"


def item(question: str, answer: str, *paraphrases: str, model: str = "toy") -> dict[str, Any]:
    return {"question": question, "answer": answer, "paraphrases": list(paraphrases), "model": model}


async def edits(
    editor: Editor, *items: dict[str, Any], key: str | None = None, **options: Any
) -> dict[str, Any]:
    return body_of(
        await editor.call(
            Edit(EditRequest.model_validate({"edits": list(items), **NO_WAIT, **options}), "ana", key)
        )
    )


async def change(
    editor: Editor, question: str, answer: str, *paraphrases: str, **options: Any
) -> dict[str, Any]:
    return await edits(editor, item(question, answer, *paraphrases), **options)


async def revert(editor: Editor, version: int, key: str | None = None, **options: Any) -> dict[str, Any]:
    return body_of(
        await editor.call(
            Undo(RevertRequest.model_validate({"version": version, **NO_WAIT, **options}), "ana", key)
        )
    )


async def revert_edits(editor: Editor, *ids: str, **options: Any) -> dict[str, Any]:
    return body_of(
        await editor.call(
            Undo(RevertRequest.model_validate({"edits": list(ids), **NO_WAIT, **options}), "ana")
        )
    )


async def rollback(editor: Editor, to: int, key: str | None = None, **options: Any) -> dict[str, Any]:
    return body_of(
        await editor.call(Undo(RollbackRequest.model_validate({"to": to, **NO_WAIT, **options}), "ana", key))
    )


async def checksum(editor: Editor) -> str:
    value: str = body_of(await editor.call(GetMemory()))["checksums"]["toy/table"]
    return value


async def check(editor: Editor, run: bool = True, superseded: bool = False) -> CheckReport:
    return CheckReport.model_validate_json(
        (await editor.call((RunChecks if run else GetChecks)(superseded))).body
    )


async def diff(editor: Editor, a: int, b: int) -> Diff:
    return Diff.model_validate_json((await editor.call(CompareVersions(a, b))).body)


async def head(editor: Editor) -> int:
    version: int = body_of(await editor.call(ListVersions(1)))["head"]
    return version


def before_and_after(receipt: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    """Return the answer before and after each edit of the report."""
    return [(edit["before"], edit["after"]) for edit in receipt["report"]["edits"]]


Step: TypeAlias = tuple[Any, ...]  # edit, revert or rollback, with its argument


def histories(*edit: st.SearchStrategy[str]) -> st.SearchStrategy[Sequence[Step]]:
    """Return a strategy for histories. edit: strategies for the arguments of an edit."""
    step = st.one_of(
        st.tuples(st.just("edit"), *edit),
        st.tuples(st.just("revert"), st.integers(1, 8)),
        st.tuples(st.just("rollback"), st.integers(0, 8)),
    )
    return st.lists(step, min_size=3, max_size=10)
