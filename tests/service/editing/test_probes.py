"""Side effects are looked for on a fixed set of questions and on those that are nearest to the edit."""

from __future__ import annotations

from typing import Any

import pytest

from service.editing.editor import Editor
from service.measuring.bystanders import Bystanders
from service.measuring.probes import MOST, NEAR_EACH, Probes
from service.measuring.wording import plain
from tests.service.editing.requests import PERU

FIXED = ["Who wrote Hamlet?", PERU]
OTHERS = [
    *(f"What is the capital of country {n}?" for n in range(50)),
    "What is the currency of Peru?",
    "Who painted it?",
]


def test_the_near_ones_share_rare_words_first() -> None:
    probes = Probes(FIXED, OTHERS).about([PERU], None).asked
    assert probes[:2] == ["Who wrote Hamlet?", "What is the currency of Peru?"]
    assert probes[2:] == OTHERS[: NEAR_EACH - 1]


def test_the_edited_questions_are_no_probes() -> None:
    edited = ["what is the currency of PERU", PERU.lower()]
    assert not {PERU, "What is the currency of Peru?"} & set(Probes(FIXED, OTHERS).about(edited, None).asked)


def test_many_edits_share_the_near_ones() -> None:
    others = [f"Subject {n} of kind {n % 7}?" for n in range(3000)]
    edited = [f"What about subject {n}?" for n in range(1000)]
    assert 100 < len(Probes([], others).about(edited, None).asked) <= MOST


def test_where_the_system_tells_all_are_covered_and_only_those_it_names_are_asked() -> None:
    probes = Probes(FIXED, OTHERS)
    named = [OTHERS[-1], PERU.lower(), *FIXED]
    chosen = probes.about([PERU], named)
    assert chosen.asked == [*(q for q in FIXED if q != PERU), OTHERS[-1]]
    assert chosen.covered == {plain(q) for q in ({*FIXED, *OTHERS} - {PERU})}


def test_of_very_many_that_may_be_touched_the_likeliest_are_asked_and_no_other_is_counted() -> None:
    others = [f"Subject {n}?" for n in range(3 * MOST)]
    chosen = Probes(FIXED, others).about(["What?"], others)
    assert chosen.asked == [*FIXED, *others[:MOST]]
    assert chosen.covered == {plain(q) for q in [*FIXED, *others[:MOST]]}


def test_a_model_without_a_pack_has_no_probes() -> None:
    assert Probes.of("toy").about([PERU], None).asked == []


def test_the_default_model_has_its_200_and_the_neighbours_of_the_edit() -> None:
    probes = Probes.of("nkb")
    asked = probes.about([PERU], None).asked
    assert len(probes.fixed) == 200
    assert len(asked) > 200
    assert sum("Peru" in question for question in asked) >= 3
    assert sum("capital of" in question for question in asked) >= 3


async def test_the_fixed_ones_are_read_before_an_edit_has_to_wait_for_it(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    toy = editor._systems.of("toy")
    unmoved = toy.unmoved

    def noted(before: Any, after: Any) -> list[bool]:
        read.extend(ask.question for ask in before[0])
        return unmoved(before, after)

    monkeypatch.setattr(toy, "unmoved", noted)
    bystanders = Bystanders({"toy": Probes(FIXED, OTHERS)})
    await bystanders.prepare(await editor._folder.bases())
    assert FIXED[1] in read
