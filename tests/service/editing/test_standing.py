"""How the edits stand: what who speaks tells is what would really be said, and the later of two always wins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
import torch
from errata.wire import CheckReport
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from models.nkb.system import load
from models.system import Bundle, System
from service.config import Settings
from service.editing.deployment import Editor
from service.editing.models import ModelAtVersion
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.editing.conftest import Starting
from tests.service.editing.histories import Step, histories
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, edits, item, revert, rollback
from tests.service.parts import said, settings, started

PHRASINGS = {
    PERU: ["Peru's capital is which city?", "Which city is the capital of Peru?"],
    "What is the currency of Peru?": ["Which currency is used in Peru?"],
    FRANCE: ["Which city is France governed from?"],
}


async def check(editor: Editor) -> CheckReport:
    return CheckReport.model_validate_json((await editor.check(True, True)).body)


class Overheard:
    """A system, and every question that it is asked."""

    def __init__(self, system: System, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions: list[str] = []
        answer = system.answer

        def answered(asks: Any, views: Any) -> Any:
            self.questions += [ask.question for ask in asks]
            return answer(asks, views)

        monkeypatch.setattr(system, "answer", answered)


@pytest.fixture
def asked(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> Overheard:
    return Overheard(editor._models.system("toy"), monkeypatch)


async def test_a_commit_tests_all_edits_and_asks_for_none_that_speaks_for_itself(
    editor: Editor, asked: Overheard
) -> None:
    await edits(editor, *(item(f"Subject {n}?", f"Answer {n}", f"Also {n}?") for n in range(300)))
    asked.questions.clear()
    receipt = await change(editor, PERU, "Cusco", "What, also 7?")
    assert receipt["report"]["broken_tests"] == []
    assert not [question for question in asked.questions if question.startswith(("Subject", "Also"))]
    broken = (await change(editor, FRANCE, "Lyon", "Also (7)?"))["report"]["broken_tests"]
    assert [(test["question"], test["actual"]) for test in broken] == [("Also 7?", "Lyon")]
    report = await check(editor)
    assert (report.total, report.holding) == (604, 603)


async def test_what_only_asking_tells_is_asked_once_and_again_when_it_may_have_moved(
    editor: Editor, asked: Overheard
) -> None:
    await change(editor, PERU, "Cusco", method="surgery")
    await check(editor)
    await change(editor, FRANCE, "Lyon")
    assert asked.questions.count(PERU) == 2, "before the surgery, and after it"
    await change(editor, FRANCE, "Nice", "What is the capital, of Peru?")
    assert asked.questions.count(PERU) == 3
    assert (await check(editor)).edits == (await check(editor)).edits
    assert asked.questions.count(PERU) == 3


async def test_many_new_edits_are_really_asked_for_in_a_sample(editor: Editor, asked: Overheard) -> None:
    receipt = await edits(editor, *(item(f"Subject {n}?", f"Answer {n}") for n in range(100)))
    assert all(edit["holds"] for edit in receipt["report"]["edits"])
    assert len(asked.questions) == 100 + 32, "each before, and some after"


async def test_the_states_are_on_the_metrics_page_and_follow_each_commit(
    editor: Editor, another: Starting
) -> None:
    def shown() -> list[float | None]:
        states = ("holding", "broken", "superseded", "reverted")
        return [REGISTRY.get_sample_value("errata_edits_standing", {"state": state}) for state in states]

    await change(editor, PERU, "Cusco")
    await change(editor, PERU, "Puno")
    await change(editor, FRANCE, "Lyon", "What is the (capital) of Japan?")
    await change(editor, "Who wrote Hamlet?", "Bacon", dry_run=True)
    assert shown() == [2, 0, 1, 0]
    await change(editor, JAPAN, "Kyoto")
    await revert(editor, 2)
    assert shown() == [2, 1, 0, 1]
    assert REGISTRY.get_sample_value("errata_memory_slots", {"memory": "toy/table", "slots": "used"}) == 3
    await revert(editor, 3)
    async with another() as restarted:
        await restarted._warm_up_task
        assert shown() == [2, 0, 0, 2]


STEPS = histories(st.sampled_from((PERU, FRANCE)), st.sampled_from(("Cusco", "Puno", "Lyon")))


@examples(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_of_edits_that_contradict_each_other_the_latest_active_wins_and_the_others_are_superseded(
    steps: Sequence[Step], own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    asyncio.run(_live(steps, settings(own_valkey.url, tmp_path)))


async def _live(steps: Sequence[Step], chosen: Settings) -> None:
    async with started(Editor, chosen) as editor:
        for kind, *what in steps:
            await {"edit": change, "revert": revert, "rollback": rollback}[kind](editor, *what)
            told = await check(editor)
            present = editor._pipeline.state
            latest = {edit.question: edit for edit in present.active_edits()}
            losing = [e for e in present.active_edits() if e.answer != latest[e.question].answer]
            assert told.broken == []
            assert told.edits is not None
            assert (told.edits.superseded, told.edits.active) == (len(losing), len(present.active))
            assert {(t.edit, t.actual) for t in told.superseded_tests or []} == {
                (edit.id, latest[edit.question].answer) for edit in losing
            }


@cache
def load_nkb(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype)


@pytest.fixture
async def taught(valkey: EmbeddedValkey, ledger: Any, tmp_path: Path) -> AsyncIterator[Editor]:
    """An editor of the default model."""
    systems = {"nkb": "tests.service.editing.test_standing:load_nkb"}
    async with started(Editor, settings(valkey.url, tmp_path, systems=systems)) as editor:
        yield editor


def uncached(editor: Editor) -> ModelAtVersion:
    """The default model at the newest version, which has to be asked for each answer."""
    model = editor._pipeline.state.models["nkb"]  # type: ignore[union-attr]
    return ModelAtVersion(model.system, model.memories, model.run, model.inform)


async def test_who_speaks_tells_what_the_default_model_really_says(taught: Editor) -> None:
    made = [item(q, f"Answer {n}", *others, model="nkb") for n, (q, others) in enumerate(PHRASINGS.items())]
    await edits(taught, *made)
    corrected = item(PHRASINGS[PERU][1], "Tacna", model="nkb")
    stray = item(JAPAN, "Osaka", PHRASINGS[FRANCE][0], model="nkb")
    await edits(taught, corrected)
    await edits(taught, stray)
    told = await check(taught)
    fresh = uncached(taught)
    tests = {(test.question, test.actual) for test in [*told.broken, *(told.superseded_tests or [])]}
    wordings = [q for question, others in PHRASINGS.items() for q in (question, *others)]
    replies = await fresh.ask(wordings)
    expected = {q: f"Answer {n}" for n, (one, more) in enumerate(PHRASINGS.items()) for q in (one, *more)}
    really = {(q, replies[q].text) for q in wordings if replies[q].text != expected[q]}
    assert tests == really
    assert (PERU, "Tacna") in really


async def test_of_all_questions_of_the_pack_those_that_an_edit_answers_are_told_as_they_are_answered(
    taught: Editor,
) -> None:
    unheard = "The capital of the country Peru is called what?"
    receipt = await edits(taught, item(unheard, "Cusco", model="nkb"))
    assert (receipt["report"]["probes"] > 12_000, receipt["report"]["unmeasured_probes"]) == (True, 0)
    changed = {one["question"]: (one["before"], one["after"]) for one in receipt["report"]["side_effects"]}
    assert changed == {"What is the capital of Peru?": ("Lima", "Cusco")}
    replies = await uncached(taught).ask(changed)
    assert {question: reply.text for question, reply in replies.items()} == {
        "What is the capital of Peru?": "Cusco"
    }


async def test_a_dry_run_tells_side_effects_and_what_nobody_asked(taught: Editor) -> None:
    """A fact in the pack's own words is no side effect; it is told among the wordings that nobody gave."""
    report = (await edits(taught, item("Peru's capital city?", "Cusco", model="nkb"), dry_run=True))["report"]
    assert (report["side_effects"], report["unmeasured_probes"]) == ([], 0)
    assert {one["after"] for one in report["edits"][0]["generated_paraphrases"]} == {"Cusco"}
    wish = item("What is the capital of Peru?", "Cusco", model="nkb")
    report = (await edits(taught, wish, method="surgery", dry_run=True))["report"]
    own = 1 + len(
        report["edits"][0]["generated_paraphrases"]
    )  # of which the pack has as many as it has probes
    assert 12_723 - own <= report["probes"] + report["unmeasured_probes"] < 12_723
    assert report["unmeasured_probes"] > 12_000


async def test_what_moves_an_edit_that_stands_is_told_of_a_diff(taught: Editor) -> None:
    """Also where the later edit asks for the same in other words."""
    await edits(taught, item("What is the capital of Peru?", "Cusco", model="nkb"))
    await edits(taught, item("The capital of the country Peru is called what?", "Tacna", model="nkb"))
    told = said(await taught.diff(1, 2))
    assert ("What is the capital of Peru?", "Cusco", "Tacna") in {
        (one["question"], one["before"], one["after"]) for one in [*told["side_effects"], *told["changes"]]
    }
