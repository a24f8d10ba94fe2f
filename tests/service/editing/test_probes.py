"""Side effects are looked for on a fixed set of questions and on those that are nearest to the edit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from errata.wire.wording import normalize_question

from models.packs.probes import pack_probes
from models.system import Probes, Side
from service.editing.deployment import Editor
from service.editing.evaluation.side_effects import (
    MAX_CHOSEN,
    NEAREST_PER_EDIT,
    ProbeChoice,
    ProbeSelector,
    SideEffectProbe,
)
from tests.service.editing.requests import PERU

FIXED = ["Who wrote Hamlet?", PERU]
OTHERS = [
    *(f"What is the capital of country {n}?" for n in range(50)),
    "What is the currency of Peru?",
    "Who painted it?",
]


def choose(
    edits: Sequence[str],
    reachable: Sequence[str] | None = None,
    core: Sequence[str] = FIXED,
    training: Sequence[str] = OTHERS,
) -> ProbeChoice:
    return ProbeSelector(Probes(tuple(core), tuple(training))).choose(edits, reachable)


def test_the_near_ones_share_rare_words_first() -> None:
    probes = choose([PERU]).questions
    assert probes[:2] == ["Who wrote Hamlet?", "What is the currency of Peru?"]
    assert probes[2:] == OTHERS[: NEAREST_PER_EDIT - 1]


def test_the_edited_questions_are_no_probes() -> None:
    edited = ["what is the currency of PERU", PERU.lower()]
    assert not {PERU, "What is the currency of Peru?"} & set(choose(edited).questions)


def test_many_edits_share_the_near_ones() -> None:
    others = [f"Subject {n} of kind {n % 7}?" for n in range(3000)]
    edited = [f"What about subject {n}?" for n in range(1000)]
    assert 100 < len(choose(edited, core=[], training=others).questions) <= MAX_CHOSEN


def test_where_the_system_tells_all_are_covered_and_only_those_it_names_are_asked() -> None:
    named = [OTHERS[-1], PERU.lower(), *FIXED]
    chosen = choose([PERU], named)
    assert chosen.questions == [*(q for q in FIXED if q != PERU), OTHERS[-1]]
    assert chosen.covered_wordings == {normalize_question(q) for q in ({*FIXED, *OTHERS} - {PERU})}


def test_of_very_many_that_may_be_touched_the_likeliest_are_asked_and_no_other_is_counted() -> None:
    others = [f"Subject {n}?" for n in range(3 * MAX_CHOSEN)]
    chosen = choose(["What?"], others, training=others)
    assert chosen.questions == [*FIXED, *others[:MAX_CHOSEN]]
    assert chosen.covered_wordings == {normalize_question(q) for q in [*FIXED, *others[:MAX_CHOSEN]]}


def test_a_model_without_a_pack_has_no_probes() -> None:
    assert choose([PERU], core=[], training=[]).questions == []


def test_the_default_model_has_its_200_and_the_neighbours_of_the_edit() -> None:
    probes = pack_probes()
    asked = ProbeSelector(probes).choose([PERU], None).questions
    assert len(probes.core) == 200
    assert len(asked) > 200
    assert sum("Peru" in question for question in asked) >= 3
    assert sum("capital of" in question for question in asked) >= 3


async def test_the_fixed_ones_are_read_before_an_edit_has_to_wait_for_it(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    toy = editor._models.system("toy")
    may_differ = toy.may_differ

    def record(before: Side, after: Side) -> list[bool]:
        read.extend(ask.question for ask in before.asks)
        return may_differ(before, after)

    monkeypatch.setattr(toy, "may_differ", record)
    side_effects = SideEffectProbe(editor._models, {"toy": Probes(tuple(FIXED), tuple(OTHERS))})
    await side_effects.prepare((await editor._pipeline.read()).models)
    assert FIXED[1] in read
