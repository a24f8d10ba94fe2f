"""Edits of facts are drawn, and measured alone and together."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.backpack.memory import SENSES, SensesMemory
from models.backpack.reader import Reader
from models.backpack.system import BackpackSystem
from models.packs.pack import Pack
from models.training.backpack.exam import draw_cases
from models.training.backpack.texts import Texts
from models.training.backpack.training import PLAN
from models.training.kit.exam import Case, Figures, measure_edits
from tests.models.backpack.tiny import write_checkpoint

N_EDITS = 5


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts(Pack.load(), PLAN.texts, seed=0)


def test_an_edit_is_of_one_fact_and_its_neighbours_of_none(texts: Texts) -> None:
    cases = draw_cases(texts, N_EDITS, seed=3)
    assert cases == draw_cases(texts, N_EDITS, seed=3)
    assert len({case.change.id for case in cases}) == N_EDITS
    items = {item.relation.question(item.subject.label, 0): item for item in texts.items}
    edited_subjects = {items[case.change.question].subject.label for case in cases}
    for case in cases:
        item = items[case.change.question]
        assert case.change.answer != item.answer
        assert all(item.subject.label in question.ask.question for (question,) in case.reach.values())
        assert len(case.stay["neighbours"]) == 2
        questions = [ask.question for ask in case.stay["neighbours"]]
        assert not any(subject in question for subject in edited_subjects for question in questions)


def measure(cases: list[Case], folder: Path, alone: bool) -> Figures:
    reader = Reader.load(write_checkpoint(folder))
    memory = SensesMemory(reader)
    views = {SENSES: memory.view(memory.base)}
    return measure_edits(BackpackSystem(reader), memory, cases, views, alone=alone)


@pytest.mark.parametrize("alone", [True, False])
def test_edits_are_measured_alone_and_together(texts: Texts, tmp_path: Path, alone: bool) -> None:
    figures = measure(draw_cases(texts, N_EDITS, seed=3), tmp_path, alone)
    assert (figures["n"], figures["refused"], figures["given"]) == (N_EDITS, 0, 100)
    assert {"held", "writer", "neighbours"} < set(figures)
    if alone:
        assert figures["neighbours"] == 100, "the base answers whatever no edit is about"


def test_an_edit_that_is_refused_is_no_hit(texts: Texts, tmp_path: Path) -> None:
    cases = draw_cases(texts, 2, seed=3)
    cases[0] = replace(cases[0], change=replace(cases[0].change, answer=" "))  # not said to the letter
    figures = measure(cases, tmp_path, alone=False)
    assert (figures["refused"], figures["given"]) == (1, 50)
