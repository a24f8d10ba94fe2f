"""The system keeps its contract: completions, candidates, alternatives, streams, reasons that add up, foresight."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from models.backpack.editing.sense import SenseChange
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.system import BackpackSystem, load
from models.capabilities import Streams
from models.memory import AnswerChange, FieldsChange, Material, Options
from models.system import UNSURE, AnswerDelta, Ask, Reply, Side
from tests.models.backpack.tiny import write_checkpoint

QUESTION, ANSWER = "What is the capital of Peru?", "Lima, the city of kings"
QUESTIONS = ["Who wrote Emma?", "How long is the river Ob?", "What is the currency of Japan?"]


def view_of(memory: SensesMemory, *changes: Any) -> dict[str, SensesView]:
    materials = []
    for order, material in enumerate(memory.build(changes, Options())):
        assert isinstance(material, Material), material
        materials.append(replace(material, block=replace(material.block, order=order)))
    return {SENSES: memory.view(memory.fold(materials))}


@pytest.fixture(scope="module")
def base(memory: SensesMemory) -> dict[str, SensesView]:
    return view_of(memory)


@pytest.fixture(scope="module")
def corrected_view(memory: SensesMemory) -> dict[str, SensesView]:
    return view_of(memory, AnswerChange("f", QUESTION, ANSWER, ("capital of Peru",)))


def test_a_doubtful_answer_is_withheld(tmp_path: Path) -> None:
    bundle = load(torch.device("cpu"), torch.float32, write_checkpoint(tmp_path, threshold=1.0))
    (memory,) = bundle.memories
    view = {SENSES: memory.view(memory.base)}
    (reply,) = bundle.system.answer([Ask(QUESTIONS[0])], [view])
    assert (reply.answer, reply.reason) == (None, UNSURE)
    assert reply.best
    assert isinstance(bundle.system, Streams)
    *deltas, last = bundle.system.stream(Ask(QUESTIONS[0]), view)
    assert last == reply
    assert "".join(delta.text for delta in deltas if isinstance(delta, AnswerDelta)) == ""


def test_an_answer_of_the_base_is_told_when_it_is_whole(
    memory: SensesMemory, system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    ask = Ask(QUESTIONS[0])
    (before,) = system.answer([ask], [base])
    word = f" {before.best.split()[0]}"
    ends = (
        FieldsChange(
            "e", "sense", SenseChange(word=word, action="overwrite", towards="\n", first_piece=True)
        ),
        FieldsChange("f", "sense", SenseChange(word=word, action="factor", factor=50.0, first_piece=True)),
    )
    view = view_of(memory, *ends)
    *deltas, last = system.stream(ask, view)
    assert isinstance(last, Reply)
    assert last.answer
    assert last.edits == ("e", "f")
    texts = [delta.text for delta in deltas if isinstance(delta, AnswerDelta)]
    assert "".join(texts) == last.answer
    assert deltas[0] == AnswerDelta(progress={"tokens": 1})


@pytest.mark.parametrize("is_edited", [False, True])
def test_the_parts_of_a_reason_add_up_to_the_log_odds(
    system: BackpackSystem,
    base: dict[str, SensesView],
    corrected_view: dict[str, SensesView],
    is_edited: bool,
) -> None:
    (reply,) = system.answer([Ask(QUESTION, explain=True)], [corrected_view if is_edited else base])
    assert reply.explanation is not None
    reason = reply.explanation["attribution"]
    total = sum(part for word in reason["words"] for part in word["senses"])
    assert total == pytest.approx(reason["log_odds"], abs=1e-3, rel=1e-4)
    assert reason["log_odds"] > 0
    assert "".join(word["word"] for word in reason["words"]) == f"Q: {QUESTION}\nA:"
    assert reply.best.startswith(reason["token"].strip())
    assert (reply.explanation["fact"] is None) is not is_edited
    assert reason["strongest"][0]["part"] == pytest.approx(
        max((part for word in reason["words"] for part in word["senses"]), key=abs)
    )


def test_an_answer_names_a_change_of_senses_only_where_it_would_be_another(
    memory: SensesMemory, system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    change = FieldsChange("s", "sense", SenseChange(word="A", action="factor", factor=30.0))
    absent_word = FieldsChange("u", "sense", SenseChange(word="z", action="factor", factor=9.0))
    weak = FieldsChange("w", "sense", SenseChange(word="Q", action="factor", factor=1.0))
    asks = [Ask(question) for question in QUESTIONS]
    plain = system.answer(asks, [base] * len(asks))
    changed_view = system.answer(asks, [view_of(memory, change)] * len(asks))
    assert [reply.edits for reply in changed_view] == [
        ("s",) if new.best != old.best else () for new, old in zip(changed_view, plain, strict=True)
    ]
    assert any(reply.edits for reply in changed_view)
    for view in (view_of(memory, absent_word), view_of(memory, weak)):
        for old, new in zip(plain, system.answer(asks, [view] * len(asks)), strict=True):
            assert (new.best, new.edits) == (old.best, ())


@pytest.mark.parametrize("word", [" the", "Q", "z", " of", "is"])
def test_changed_senses_may_differ_where_the_word_is_read_and_nowhere_else(
    memory: SensesMemory, system: BackpackSystem, corrected_view: dict[str, SensesView], word: str
) -> None:
    fact = AnswerChange("f", QUESTION, ANSWER, ("capital of Peru",))
    change = FieldsChange("s", "sense", SenseChange(word=word, action="factor", factor=7.0, first_piece=True))
    view = view_of(memory, fact, change)
    questions = [QUESTION, *QUESTIONS, *system.probes.core[:40]]
    asks = [Ask(question) for question in questions]
    may_differ = system.may_differ(Side(asks, corrected_view), Side(asks, view))
    old, new = (system.answer(asks, [side] * len(asks)) for side in (corrected_view, view))
    (token, *_) = system.reader.speller.spell(word)
    for question, may, before, after in zip(questions, may_differ, old, new, strict=True):
        read = system.reader.speller.spell(f"{question} {before.best}")
        assert may or (before.best, before.edits) == (after.best, after.edits), question
        assert not may or token in [*system.reader.ask(question)[0], *read], question
    back = system.may_differ(Side(asks, view), Side(asks, corrected_view))
    assert [place for place, may in enumerate(back) if may and not may_differ[place]] == []


def test_other_answers_than_the_first_may_differ_after_any_change_of_senses(
    memory: SensesMemory, system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    view = view_of(memory, FieldsChange("s", "sense", SenseChange(word="z", action="factor", factor=0.5)))
    asks = [Ask(QUESTIONS[0]), Ask(QUESTIONS[0], top_k=2), Ask(QUESTIONS[0], candidates=("Peru", "Zaire"))]
    assert system.may_differ(Side(asks, base), Side(asks, view)) == [False, True, True]


def test_the_same_senses_from_another_edit_may_differ(memory: SensesMemory, system: BackpackSystem) -> None:
    shift = SenseChange(word="A", action="factor", factor=30.0)
    asks = [Ask(question) for question in QUESTIONS]
    views = [view_of(memory, FieldsChange(name, "sense", shift)) for name in "st"]
    replies = [system.answer(asks, [view] * len(asks)) for view in views]
    differs = [old.edits != new.edits for old, new in zip(*replies, strict=True)]
    may_differ = system.may_differ(*(Side(asks, view) for view in views))
    assert any(differs)
    assert not any(is_other and not may for is_other, may in zip(differs, may_differ, strict=True))


def test_what_a_change_may_reach_is_told_of_facts_alone(
    memory: SensesMemory,
    system: BackpackSystem,
    base: dict[str, SensesView],
    corrected_view: dict[str, SensesView],
) -> None:
    assert system.find_affected(base, corrected_view) is not None
    change = FieldsChange("s", "sense", SenseChange(word=" the", action="factor", factor=0.5))
    assert system.find_affected(base, view_of(memory, change)) is None
