"""Side effects are looked for on a fixed set of questions and on those that are nearest to the edit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from errata.wire.wording import normalize_question

from models.packs.pack import pack_probes
from models.system import Probes, Side
from service.editing.editor import Editor
from service.editing.evaluation.side_effects import (
    MAX_CHOSEN,
    NEAREST_PER_EDIT,
    ProbeChoice,
    ProbeSelector,
    SideEffectProbe,
)
from tests.service.editing.requests import PERU

PACK_QUESTIONS = ["Who wrote Hamlet?", PERU]
TRAINING_QUESTIONS = [
    *(f"What is the capital of country {n}?" for n in range(50)),
    "What is the currency of Peru?",
    "Who painted it?",
]


def choose(
    edits: Sequence[str],
    reachable: Sequence[str] | None = None,
    core: Sequence[str] = PACK_QUESTIONS,
    training: Sequence[str] = TRAINING_QUESTIONS,
) -> ProbeChoice:
    return ProbeSelector(Probes(tuple(core), tuple(training))).choose(edits, reachable)


def test_the_nearest_probes_share_rare_words() -> None:
    probes = choose([PERU]).questions
    assert probes[:2] == ["Who wrote Hamlet?", "What is the currency of Peru?"]
    assert probes[2:] == TRAINING_QUESTIONS[: NEAREST_PER_EDIT - 1]


def test_the_edited_questions_are_no_probes() -> None:
    edited_questions = ["what is the currency of PERU", PERU.lower()]
    assert not {PERU, "What is the currency of Peru?"} & set(choose(edited_questions).questions)


def test_many_edits_share_the_nearest_probes() -> None:
    questions = [f"Subject {n} of kind {n % 7}?" for n in range(3000)]
    edited_questions = [f"What about subject {n}?" for n in range(1000)]
    assert 100 < len(choose(edited_questions, core=[], training=questions).questions) <= MAX_CHOSEN


def test_a_system_that_names_reachable_questions_is_asked_only_those() -> None:
    edited_questions = [TRAINING_QUESTIONS[-1], PERU.lower(), *PACK_QUESTIONS]
    probes = choose([PERU], edited_questions)
    assert probes.questions == [*(q for q in PACK_QUESTIONS if q != PERU), TRAINING_QUESTIONS[-1]]
    assert probes.covered_wordings == {
        normalize_question(q) for q in ({*PACK_QUESTIONS, *TRAINING_QUESTIONS} - {PERU})
    }


def test_of_very_many_reachable_questions_only_the_likeliest_are_asked() -> None:
    questions = [f"Subject {n}?" for n in range(3 * MAX_CHOSEN)]
    probes = choose(["What?"], questions, training=questions)
    assert probes.questions == [*PACK_QUESTIONS, *questions[:MAX_CHOSEN]]
    assert probes.covered_wordings == {
        normalize_question(q) for q in [*PACK_QUESTIONS, *questions[:MAX_CHOSEN]]
    }


def test_a_model_without_a_pack_has_no_probes() -> None:
    assert choose([PERU], core=[], training=[]).questions == []


def test_the_default_model_has_its_200_and_the_neighbours_of_the_edit() -> None:
    probes = pack_probes()
    questions = ProbeSelector(probes).choose([PERU], None).questions
    assert len(probes.core) == 200
    assert len(questions) > 200
    assert sum("Peru" in question for question in questions) >= 3
    assert sum("capital of" in question for question in questions) >= 3


async def test_the_fixed_probes_are_prepared_before_the_first_edit(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    toy = editor.models.system("toy")
    may_differ = toy.may_differ

    def record(before: Side, after: Side) -> list[bool]:
        read.extend(ask.question for ask in before.asks)
        return may_differ(before, after)

    monkeypatch.setattr(toy, "may_differ", record)
    side_effects = SideEffectProbe(
        editor.models, {"toy": Probes(tuple(PACK_QUESTIONS), tuple(TRAINING_QUESTIONS))}
    )
    await side_effects.prepare((await editor.pipeline.read()).models)
    assert PACK_QUESTIONS[1] in read
