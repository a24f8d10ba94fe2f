"""Edits of a memory that a system no longer reads do nothing, and say so where they are taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from models.memory import Views
from models.system import Ask, Bundle, Reply
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import edits, head, revert
from tests.service.toy_rules import RULES, Parrot, Rules

NEWER = "parrot/newer"


class NewerRules(Rules):
    """The memory of a later release."""

    name = NEWER


class NewerParrot(Parrot):
    """The system of a later release, which reads another memory."""

    memories: tuple[str, ...] = (NEWER,)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        views_by_name: list[Mapping[str, Any]] = [{RULES: view[NEWER]} for view in views]
        return super().answer(asks, views_by_name)


def load_newer(device: torch.device, dtype: torch.dtype) -> Bundle:
    return Bundle(NewerParrot(), (NewerRules(),))


async def test_edits_of_a_memory_that_went_stay_in_the_ledger_and_say_why_they_cannot_be_taken_back(
    start_editor: StartEditor,
) -> None:
    rule = {"memory": RULES, "kind": "rule", "change": {"word": "hello"}}
    async with start_editor(systems={"parrot": "tests.service.toy_rules:load_parrot"}) as editor:
        await edits(editor, rule)
    async with start_editor(systems={"parrot": f"{__name__}:load_newer"}) as editor:
        await edits(editor, {**rule, "memory": NEWER})
        assert await head(editor) == 2
        refused = await revert(editor, 1)
        assert (refused["status"], refused["code"]) == (404, "unknown_model")
        assert f"the commit wrote '{RULES}', which no model that is served here reads" in refused["detail"]
        assert (await revert(editor, 2))["status"] == 201
