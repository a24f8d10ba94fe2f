"""Rows and checkpoints of the answering head."""

import shutil
from pathlib import Path

import pytest
import torch

from models.graph.knowledge import Entity, Fact
from models.graph.statement import RELATION
from models.thu_ernie.checkpoint import TABLE, load, minilm_weights, save
from models.thu_ernie.entities.table import EntityTable, EntityView, row_name
from models.thu_ernie.finder import FoundRow, RowFinder
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.reader import Model
from tests.models.thu_ernie.answering.conftest import ANSWERS, KIM, SIZE


def vector(finder: RowFinder, name: str) -> torch.Tensor:
    row = finder.find(name)
    assert row is not None
    return row.vector


def test_an_entity_of_the_table_has_its_row(table: EntityTable) -> None:
    row = RowFinder(EntityView(table)).of_entity(KIM)
    assert row is not None
    assert (row.source, row.edit) == ("table", "")
    assert row.vector.equal(table.look_up(torch.tensor([table.row_of("kim")]))[0])


def test_a_new_entity_is_where_its_facts_lead_back_to(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    facts = (
        Fact("birth", "place of birth", "Oslo", "oslo"),
        Fact("height", "height", "1.80 m"),
        Fact("x", "x", "y"),
    )
    row = finder.of_entity(Entity("new", "New", facts=facts))
    assert row is not None
    first = vector(finder, "oslo") - vector(finder, RELATION + "birth")
    second = vector(finder, "=1.80 m") - vector(finder, RELATION + "height")
    torch.testing.assert_close(row.vector, (first + second) / 2)
    assert row.source == "neighbours"
    assert finder.of_entity(Entity("bare", "Bare")) is None


def test_a_new_object_is_where_subject_and_relation_lead_to(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    subject = finder.of_entity(KIM)
    row = finder.of_object(subject, Fact("birth", "place of birth", "Lima", "lima"))
    assert row is not None
    torch.testing.assert_close(row.vector, vector(finder, "kim") + vector(finder, RELATION + "birth"))
    assert finder.of_object(subject, Fact("unknown", "unknown", "Lima", "lima")) is None
    assert finder.of_object(None, Fact("birth", "place of birth", "Lima", "lima")) is None


def test_a_row_that_an_edit_wrote_names_the_edit(table: EntityTable) -> None:
    number = table.row_of("kim")
    view = EntityView(table, {number: torch.ones(SIZE)}, {}, {number: "edit 3"})
    row = RowFinder(view).of_entity(KIM)
    assert row == FoundRow(row.vector, "edit", "edit 3") if row else False
    assert row is not None
    assert row.vector.equal(torch.ones(SIZE))


def test_a_literal_value_is_named_by_its_text() -> None:
    assert row_name("1.80 m", "") == "=1.80 m"
    assert row_name("Oslo", "oslo") == "oslo"


@pytest.fixture(scope="module")
def folder(model: Model, table_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    shutil.copytree(table_folder, folder / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, folder)
    return folder


def test_what_is_loaded_is_what_was_saved(model: Model, folder: Path) -> None:
    copy = load(folder)
    for name, value in model.network.state_dict().items():
        torch.testing.assert_close(copy.network.state_dict()[name], value, atol=1e-3, rtol=1e-3)
    assert copy.settings == model.settings
    assert copy.confidences == model.confidences
    assert list(copy.answers.items()) == list(ANSWERS.items())
    assert copy.digest.startswith("sha256:")


def test_the_same_weights_give_the_same_bytes(model: Model, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / TABLE, tmp_path / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == (folder / "SHA256SUMS").read_text()


def test_weights_of_minilm_are_known_by_our_names(network: ErnieAnswers) -> None:
    assert minilm_weights(network.state_dict()) == {}  # no shape of the small network is MiniLM's
    name = "bert.encoder.layer.2.output.dense.weight"
    [(new_name, value)] = minilm_weights({name: torch.empty(384, 1536)}).items()
    assert (new_name, value.shape) == (name, (384, 1536))
