"""A checkpoint that is not whole is not loaded; a whole one is the same after it was saved and loaded."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import WIDTH
from models.encoder.weights import find
from models.kbert.checkpoint import (
    CONFIG,
    DEFAULT,
    FILES,
    CheckpointError,
    Confidence,
    Settings,
    Trained,
    add_adapters,
    assemble,
    load,
    save,
)
from models.kbert.heads import NAMES, PAIR
from models.kit.checkpoint import SUMS, write_sums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*FILES, SUMS):
        shutil.copy(DEFAULT / name, tmp_path / name)
    return tmp_path


def tiny() -> Trained:
    """Random heads, one adapter."""
    shapes = {"pointer.weight": (2, WIDTH), "pointer.bias": (2,), "rank.weight": (), "support.weight": ()}
    pair = {PAIR[0]: (WIDTH, WIDTH), PAIR[1]: (WIDTH,), PAIR[2]: (2, WIDTH), PAIR[3]: (2,)}
    query = "encoder.layer.5.attention.self.query"
    return Trained(
        Settings(max_length=64, max_entities=3, max_mentions=2, scale=2.0),
        {f"{query}.A": torch.randn(4, WIDTH), f"{query}.B": torch.randn(WIDTH, 4)},
        {name: torch.randn(shape) for name, shape in {**shapes, **pair}.items()},
        torch.randn(WIDTH, WIDTH),
        {
            "object": Confidence((1.0, 2.0, 3.0, 4.0), 0.5, 0.3),
            "pair": Confidence((1.0,), 0.5, 0.3),
        },
    )


def test_what_is_saved_is_what_is_loaded_byte_for_byte(tmp_path: Path) -> None:
    trained = tiny()
    save(trained, tmp_path / "a")
    save(trained, tmp_path / "b")
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in (*FILES, SUMS))
    model = load(tmp_path / "a")
    assert (model.settings, model.confidences) == (trained.settings, trained.confidences)
    assert all(torch.equal(model.heads.tensors[name], trained.heads[name]) for name in NAMES)


def test_a_config_that_lacks_a_number_is_refused(folder: Path) -> None:
    settings = json.loads((folder / CONFIG).read_text())
    settings.pop("max_entities")
    (folder / CONFIG).write_text(json.dumps(settings))
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match="not a whole checkpoint"):
        load(folder)


def test_heads_that_are_not_all_there_are_refused() -> None:
    trained = tiny()
    heads = {name: value for name, value in trained.heads.items() if name != "rank.weight"}
    short = Trained(trained.settings, trained.adapters, heads, trained.bend, trained.confidences)
    with pytest.raises(CheckpointError, match=r"lacks rank\.weight"):
        assemble(find(), short)


QUERY = "encoder.layer.5.attention.self.query"


def test_an_adapter_is_added_to_its_matrix_alone() -> None:
    weights = {f"{QUERY}.weight": torch.ones(4, 4), "other.weight": torch.ones(2, 2)}
    adapters = {f"{QUERY}.A": torch.ones(1, 4), f"{QUERY}.B": torch.full((4, 1), 2.0)}
    total = add_adapters(weights, adapters, scale=0.5)
    assert torch.equal(total[f"{QUERY}.weight"], torch.full((4, 4), 2.0))
    assert torch.equal(total["other.weight"], weights["other.weight"])


@pytest.mark.parametrize(
    "adapters",
    [
        {f"{QUERY}.A": torch.ones(1, 4)},
        {"nowhere.A": torch.ones(1, 4), "nowhere.B": torch.ones(4, 1)},
        {f"{QUERY}.A": torch.ones(1, 3), f"{QUERY}.B": torch.ones(4, 1)},
    ],
)
def test_an_adapter_that_fits_no_matrix_is_refused(adapters: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointError, match="the adapter of"):
        add_adapters({f"{QUERY}.weight": torch.ones(4, 4)}, adapters, scale=1.0)


@pytest.mark.parametrize("length", [7, 513])
def test_a_length_that_no_row_can_have_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="max_length: from 8 to 512"):
        Settings(max_length=length, max_entities=3, max_mentions=2, scale=2.0)
