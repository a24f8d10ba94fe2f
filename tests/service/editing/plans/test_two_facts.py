"""Two facts whose questions look alike can both be stored, in two commits and in one: `two_facts.jsonl`.

The pairs were written by somebody who has seen neither the code nor what the scope is trained on.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.evaluation import report
from service.editing.evaluation.side_effects import SideEffectProbe, SideEffects
from tests.service.editing.requests import edits, item

PAIRS = [json.loads(line) for line in Path(__file__).with_name("two_facts.jsonl").read_text().splitlines()]
BAR = 58  # pairs of 60


def corrections(pair: dict[str, str]) -> list[dict[str, Any]]:
    sides = (("first", "first_answer"), ("second", "second_answer"))
    return [item(pair[question], pair[answer], model="nkb") for question, answer in sides]


@pytest.fixture(autouse=True)
def short_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the edits alone: the rest of the reports takes most of the time, and no commit depends on it."""

    async def measure_nothing(*_: Any, **__: Any) -> dict[str, Any]:
        return {}

    async def compare_nothing(*_: Any, **__: Any) -> SideEffects:
        return SideEffects(0, 0, [], {})

    monkeypatch.setattr(report, "measure_paraphrases", measure_nothing)
    monkeypatch.setattr(report, "find_near_questions", measure_nothing)
    monkeypatch.setattr(SideEffectProbe, "measure", compare_nothing)


async def count_right(editor: Editor) -> int:
    """Return the number of pairs whose questions both get their answers at the newest version."""
    questions = [item(pair[side], "never", model="nkb") for pair in PAIRS for side in ("first", "second")]
    reply = await edits(editor, *questions, dry_run=True)
    answers = {edit["question"]: edit["before"] for edit in reply["report"]["edits"]}
    return sum(
        answers[pair["first"]] == pair["first_answer"] and answers[pair["second"]] == pair["second_answer"]
        for pair in PAIRS
    )


async def test_one_after_the_other(nkb_editor: Editor) -> None:
    for pair in PAIRS:
        for correction in corrections(pair):
            await edits(nkb_editor, correction)  # refused where the base gives the answer already
    n_right = await count_right(nkb_editor)
    assert n_right >= BAR, n_right


async def test_in_one_commit(nkb_editor: Editor) -> None:
    for pair in PAIRS:
        await edits(nkb_editor, *corrections(pair))
    n_right = await count_right(nkb_editor)
    assert n_right >= BAR, n_right
