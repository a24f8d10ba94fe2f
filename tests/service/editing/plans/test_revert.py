"""A revert is exact: the state equals that of the remaining edits alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from models.memory import AnswerChange
from service.config import Settings
from service.editing.editor import Editor
from service.editing.operations import ListVersions
from service.ledger import fold
from service.ledger.commit import EditRecord
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.hypotheses import examples
from tests.service.editing.requests import (
    FRANCE,
    PERU,
    Step,
    before_and_after,
    change,
    checksum,
    edits,
    head,
    histories,
    item,
    revert,
    revert_edits,
    rollback,
)
from tests.service.parts import body_of, settings, start_deployment
from tests.service.toy import FACTS, ToyMemory, ToyOptions


async def test_single_edits_are_taken_back_as_if_they_had_never_been_made(
    editor: Editor, ledger: RedisLedger
) -> None:
    await change(editor, PERU, "Puno")
    receipt = await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"), item("Q?", "A"))
    first, second, third = [edit["id"] for edit in receipt["report"]["edits"]]
    whole = await checksum(editor)
    undone = await revert_edits(editor, first, third)
    assert (undone["status"], undone["version"], undone["kind"]) == (201, 3, "revert")
    assert before_and_after(undone) == [("Cusco", "Puno"), ("A", None)]
    active = list(fold.active(await ledger.read(0)).values())
    assert ([edit.answer for edit in active], await checksum(editor)) == (
        ["Puno", "Lyon"],
        fold_active(active),
    )
    head_of_log = body_of(await editor.call(ListVersions(1)))["versions"][0]
    assert (head_of_log["target"], head_of_log["target_edits"]) == (None, [first, third])
    await revert(editor, 3)
    assert await checksum(editor) == whole
    await revert_edits(editor, first)
    assert before_and_after(await revert(editor, 2)) == [("Lyon", "Paris"), ("A", None)]
    again, nowhere = await revert_edits(editor, second), await revert_edits(editor, "0123456789ab")
    assert (again["code"], again["detail"]) == (
        "nothing_to_do",
        f"edit {second} was taken back before; there is nothing to revert",
    )
    assert (nowhere["status"], nowhere["code"]) == (404, "not_found")


async def test_a_revert_tells_which_later_edits_no_longer_hold(editor: Editor) -> None:
    """The second edit was not needed for one of its wordings, which the first one answered."""
    await change(editor, PERU, "Cusco", "Seat of Peru?")
    await change(editor, FRANCE, "Cusco", "Seat of Peru?", method="surgery")
    receipt = await revert(editor, 1)
    assert [(test["version"], test["question"]) for test in receipt["report"]["broken_tests"]] == [
        (2, "Seat of Peru?")
    ]


async def test_many_edits_taken_back_are_counted_and_the_newest_listed(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.editing.evaluation.report.MAX_SWITCHED", 3)
    await edits(editor, *(item(f"Question {n}?", f"Answer {n}") for n in range(5)))
    report = (await rollback(editor, 0))["report"]
    assert ([edit["answer"] for edit in report["edits"]], report["edits_left_out"]) == (
        ["Answer 2", "Answer 3", "Answer 4"],
        2,
    )


STEPS = histories(
    st.sampled_from((PERU, FRANCE)),
    st.sampled_from(("Cusco", "Puno", "Lima")),
    st.sampled_from(("gated", "surgery")),
)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_only_what_is_active_is_left_of_any_history(
    steps: Sequence[Step], own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    """The state is compared with rows that are made from the base and folded, of those edits alone with new numbers."""
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    asyncio.run(run_steps(steps, settings(own_valkey.url, tmp_path)))


async def run_steps(steps: Sequence[Step], config: Settings) -> None:
    async with start_deployment(Editor, config) as editor:
        for kind, *arguments in steps:
            await take_step(editor, kind, *arguments)
        state = await checksum(editor), await head(editor)
    ledger = RedisLedger.connect(config.redis_url or "")
    commits = await ledger.read(0)
    await ledger.aclose()
    assert state == (fold_active(list(fold.active(commits).values())), len(commits))
    async with start_deployment(Editor, config) as fresh:
        assert (await checksum(fresh), await head(fresh)) == state


async def take_step(editor: Editor, kind: str, *arguments: Any) -> None:
    """A refused step changes nothing, so any step may be tried."""
    if kind == "edit":
        question, answer, method = arguments
        await change(editor, question, answer, "In other words?", method=method)
    elif kind == "revert":
        await revert(editor, *arguments)
    else:
        await rollback(editor, *arguments)


def fold_active(active: Sequence[EditRecord]) -> str:
    memory, materials = ToyMemory(FACTS), []
    for order, edit in enumerate(active, 1):
        correction = AnswerChange(edit.id, edit.question, edit.answer, edit.paraphrases)
        [material] = memory.build([correction], ToyOptions(method=edit.method))
        materials.append(replace(material, block=replace(material.block, order=order)))
    return memory.fold(materials).checksum
