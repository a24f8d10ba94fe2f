"""The status of all tests equals what the model answers, and the later of two contradicting edits always wins."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from models.system import System
from service.config import Settings
from service.editing import models as cache
from service.editing.editor import Editor
from service.editing.evaluation.side_effects import ProbeSelector
from service.editing.models import ModelAtVersion
from service.editing.operations import CompareVersions
from service.ledger.embedded.server import EmbeddedValkey
from tests.hypotheses import examples
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    PERU,
    Step,
    change,
    check,
    edits,
    histories,
    item,
    revert,
    rollback,
)
from tests.service.parts import body_of, sample, settings, start_deployment

PHRASINGS = {
    PERU: ["Peru's capital is which city?", "Which city is the capital of Peru?"],
    "What is the currency of Peru?": ["Which currency is used in Peru?"],
    FRANCE: ["Which city is France governed from?"],
}


class QuestionRecorder:
    """Records every question that a system is asked."""

    def __init__(self, system: System, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions: list[str] = []
        answer = system.answer

        def record_and_answer(asks: Any, views: Any) -> Any:
            self.questions += [ask.question for ask in asks]
            return answer(asks, views)

        monkeypatch.setattr(system, "answer", record_and_answer)


@pytest.fixture
def recorder(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> QuestionRecorder:
    return QuestionRecorder(editor.models.system("toy"), monkeypatch)


async def test_a_commit_tests_all_edits_without_asking_for_those_that_own_a_gate(
    editor: Editor, recorder: QuestionRecorder
) -> None:
    await edits(editor, *(item(f"Subject {n}?", f"Answer {n}", f"Also {n}?") for n in range(300)))
    recorder.questions.clear()
    receipt = await change(editor, PERU, "Cusco", "What, also 7?")
    assert receipt["report"]["broken_tests"] == []
    assert not [question for question in recorder.questions if question.startswith(("Subject", "Also"))]
    broken = (await change(editor, FRANCE, "Lyon", "Also (7)?"))["report"]["broken_tests"]
    assert [(test["question"], test["after"]) for test in broken] == [("Also 7?", "Lyon")]
    report = await check(editor, superseded=True)
    assert (report.total, report.holding) == (604, 603)


async def test_an_edit_by_surgery_is_asked_again_only_when_its_answer_may_have_changed(
    editor: Editor, recorder: QuestionRecorder
) -> None:
    await change(editor, PERU, "Cusco", method="surgery")
    await check(editor, superseded=True)
    await change(editor, FRANCE, "Lyon")
    assert recorder.questions.count(PERU) == 2, "before the surgery, and after it"
    await change(editor, FRANCE, "Nice", "What is the capital, of Peru?")
    assert recorder.questions.count(PERU) == 3
    assert (await check(editor, superseded=True)).edits == (await check(editor, superseded=True)).edits
    assert recorder.questions.count(PERU) == 3


async def test_of_many_new_edits_a_sample_is_asked(editor: Editor, recorder: QuestionRecorder) -> None:
    receipt = await edits(editor, *(item(f"Subject {n}?", f"Answer {n}") for n in range(100)))
    assert all(edit["holds"] for edit in receipt["report"]["edits"])
    assert len(recorder.questions) == 100 + 16, "each before, and other wordings of some"


async def test_the_states_are_on_the_metrics_page_and_follow_each_commit(
    editor: Editor, start_editor: StartEditor
) -> None:
    def state_counts() -> list[float | None]:
        states = ("holding", "broken", "superseded", "reverted")
        return [sample("errata_edits_standing", state=state) for state in states]

    await change(editor, PERU, "Cusco")
    await change(editor, PERU, "Puno")
    await change(editor, FRANCE, "Lyon", "What is the (capital) of Japan?")
    await change(editor, "Who wrote Hamlet?", "Bacon", dry_run=True)
    assert state_counts() == [2, 0, 1, 0]
    await change(editor, JAPAN, "Kyoto")
    await revert(editor, 2)
    assert state_counts() == [2, 1, 0, 1]
    assert sample("errata_memory_slots", memory="toy/table", slots="used") == 3
    await revert(editor, 3)
    async with start_editor() as fresh:
        await fresh._warm_up_task
        assert state_counts() == [2, 0, 0, 2]


STEPS = histories(st.sampled_from((PERU, FRANCE)), st.sampled_from(("Cusco", "Puno", "Lyon")))


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_of_contradicting_edits_the_latest_active_one_wins_and_supersedes_the_others(
    steps: Sequence[Step], own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    asyncio.run(run_steps(steps, settings(own_valkey.url, tmp_path)))


async def run_steps(steps: Sequence[Step], config: Settings) -> None:
    async with start_deployment(Editor, config) as editor:
        for kind, *arguments in steps:
            await {"edit": change, "revert": revert, "rollback": rollback}[kind](editor, *arguments)
            report = await check(editor, superseded=True)
            present = editor.pipeline.state
            latest = {edit.question: edit for edit in present.active_records.in_order}
            losing = [e for e in present.active_records.in_order if e.answer != latest[e.question].answer]
            assert report.broken == []
            assert report.edits is not None
            assert (report.edits.superseded, report.edits.active) == (len(losing), len(present.active))
            assert {(t.edit, t.after) for t in report.superseded_tests or []} == {
                (edit.id, latest[edit.question].answer) for edit in losing
            }


def model_without_cache(editor: Editor) -> ModelAtVersion:
    """Return the default model at the newest version, without cached answers."""
    model = editor.pipeline.state.models["nkb"]  # type: ignore[union-attr]
    return ModelAtVersion(model.system, model.memories, model.run, model.retrieve_facts)


async def test_the_state_of_each_test_is_what_the_default_model_answers(nkb_editor: Editor) -> None:
    items = [
        item(q, f"Answer {n}", *paraphrases, model="nkb")
        for n, (q, paraphrases) in enumerate(PHRASINGS.items())
    ]
    await edits(nkb_editor, *items)
    correction = item(PHRASINGS[PERU][1], "Tacna", model="nkb")
    stray = item(JAPAN, "Osaka", PHRASINGS[FRANCE][0], model="nkb")
    await edits(nkb_editor, correction)
    await edits(nkb_editor, stray)
    report = await check(nkb_editor, superseded=True)
    fresh = model_without_cache(nkb_editor)
    tests = {(test.question, test.after) for test in [*report.broken, *(report.superseded_tests or [])]}
    wordings = [q for question, paraphrases in PHRASINGS.items() for q in (question, *paraphrases)]
    replies = await fresh.ask(wordings)
    expected = {
        q: f"Answer {n}"
        for n, (question, paraphrases) in enumerate(PHRASINGS.items())
        for q in (question, *paraphrases)
    }
    really = {(q, replies[q].text) for q in wordings if replies[q].text != expected[q]}
    assert tests == really
    assert (PERU, "Tacna") in really


async def test_side_effects_name_each_question_of_the_pack_that_an_edit_answers(nkb_editor: Editor) -> None:
    unheard = "The capital of the country Peru is called what?"
    receipt = await edits(nkb_editor, item(unheard, "Cusco", model="nkb"))
    assert (receipt["report"]["probes"] > 12_000, receipt["report"]["unmeasured_probes"]) == (True, 0)
    changed = {
        effect["question"]: (effect["before"], effect["after"])
        for effect in receipt["report"]["side_effects"]
    }
    assert changed == {"What is the capital of Peru?": ("Lima", "Cusco")}
    replies = await model_without_cache(nkb_editor).ask(changed)
    assert {question: reply.text for question, reply in replies.items()} == {
        "What is the capital of Peru?": "Cusco"
    }


async def test_a_dry_run_reports_side_effects_and_generated_paraphrases(nkb_editor: Editor) -> None:
    """A fact in the pack's own words is no side effect; it is listed as a generated paraphrase."""
    report = (await edits(nkb_editor, item("Peru's capital city?", "Cusco", model="nkb"), dry_run=True))[
        "report"
    ]
    assert (report["side_effects"], report["unmeasured_probes"]) == ([], 0)
    answers = {
        wording["question"]: wording["after"] for wording in report["edits"][0]["generated_paraphrases"]
    }
    # The judge gives the shorter wording 0.49, a hair below the threshold; every other one follows.
    assert {wording for wording, answer in answers.items() if answer != "Cusco"} <= {"Peru's capital?"}
    selectors = nkb_editor.side_effects._selectors
    probes = selectors["nkb"].probes  # as many questions, but few of them are asked at every commit
    small_core = replace(probes, core=probes.core[:20], training=(*probes.core[20:], *probes.training))
    selectors["nkb"] = ProbeSelector(small_core)
    wish = item("What is the capital of Peru?", "Cusco", model="nkb")
    report = (await edits(nkb_editor, wish, method="surgery", dry_run=True))["report"]
    n_own_wordings = 1 + len(report["edits"][0]["generated_paraphrases"])  # some of them are probes
    assert 12_723 - n_own_wordings <= report["probes"] + report["unmeasured_probes"] < 12_723
    assert report["unmeasured_probes"] > 12_000


async def test_a_diff_names_an_earlier_edit_whose_answer_changed(nkb_editor: Editor) -> None:
    """The later edit asks for the same in other words."""
    await edits(nkb_editor, item("What is the capital of Peru?", "Cusco", model="nkb"))
    await edits(nkb_editor, item("The capital of the country Peru is called what?", "Tacna", model="nkb"))
    difference = body_of(await nkb_editor.call(CompareVersions(1, 2)))
    assert ("What is the capital of Peru?", "Cusco", "Tacna") in {
        (change["question"], change["before"], change["after"])
        for change in [*difference["side_effects"], *difference["changes"]]
    }


async def test_a_model_gives_all_answers_and_keeps_the_last_ones(
    nkb_editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MAX_ANSWERS", 2)
    model, questions = model_without_cache(nkb_editor), [PERU, FRANCE, JAPAN]
    assert (await model.ask(questions)).keys() == set(questions)
    assert model.recall(questions).keys() == {FRANCE, JAPAN}
    assert (await model.ask(questions)).keys() == set(questions)
