"""Edits of facts are drawn and measured: singly and together, in other wordings, and their effect on other facts."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.backpack.answering.reader import Reader
from models.backpack.memory import SensesMemory
from models.backpack.system import BackpackSystem
from models.packs.pack import Pack
from models.training.backpack.edits import draw_fact_edits, measure_fact_edits
from models.training.backpack.plan import DEFAULT
from models.training.backpack.texts import Texts
from tests.models.backpack.tiny import write_checkpoint

N_EDITS = 5


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts(Pack.load(), DEFAULT.texts, seed=0)


def test_an_edit_is_of_one_fact_and_its_neighbours_of_none(texts: Texts) -> None:
    edits = draw_fact_edits(texts, N_EDITS, seed=3)
    assert edits == draw_fact_edits(texts, N_EDITS, seed=3)
    assert len({edit.change.id for edit in edits}) == N_EDITS
    items = {item.relation.question(item.subject.label, 0): item for item in texts.items}
    edited_subjects = {items[edit.change.question].subject.label for edit in edits}
    for edit in edits:
        item = items[edit.change.question]
        assert edit.change.answer != item.answer
        assert item.subject.label in edit.paraphrase
        assert item.subject.label in edit.new_paraphrase
        assert len(edit.neighbours) == 2
        assert not any(subject in question for subject in edited_subjects for question in edit.neighbours)


def test_edits_are_measured_singly_and_together(texts: Texts, tmp_path: Path) -> None:
    reader = Reader.load(write_checkpoint(tmp_path))
    edits = draw_fact_edits(texts, N_EDITS, seed=3)
    figures = measure_fact_edits(BackpackSystem(reader), SensesMemory(reader), edits)
    kinds = ("reliability", "generalisation", "generalisation_writer", "locality")
    assert list(figures) == [f"{name}_{kind}" for name in ("single", "sequential") for kind in kinds]
    assert figures["single_reliability"] == figures["sequential_reliability"] == 100
    assert figures["single_locality"] == 100, "the base answers whatever no edit is about"


def test_an_edit_that_is_refused_is_no_hit(texts: Texts, tmp_path: Path) -> None:
    reader = Reader.load(write_checkpoint(tmp_path))
    edits = draw_fact_edits(texts, 2, seed=3)
    edits[0] = replace(edits[0], change=replace(edits[0].change, answer=" "))  # not said to the letter
    figures = measure_fact_edits(BackpackSystem(reader), SensesMemory(reader), edits)
    assert figures["single_reliability"] == figures["sequential_reliability"] == 50
