"""A checkpoint that is not whole is not loaded; a whole one is the same after it was saved and loaded."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from models.checkpoint import SUMS, write_sums
from models.encoder.minilm import WIDTH
from models.encoder.weights import find
from models.kbert import CheckpointError
from models.kbert.confidence import Confidence
from models.kbert.default import CONFIG, DEFAULT, DIGESTED, HEADS, Settings, Trained, assemble, load, save
from models.kbert.heads import NAMES, PAIR


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for name in (*DIGESTED, SUMS):
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
            "span": Confidence((1.0, 2.0), 0.5, 0.3),
            "pair": Confidence((1.0,), 0.5, 0.3),
        },
    )


def test_what_is_saved_is_what_is_loaded_byte_for_byte(tmp_path: Path) -> None:
    trained = tiny()
    save(trained, tmp_path / "a")
    save(trained, tmp_path / "b")
    assert all(
        (tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in (*DIGESTED, SUMS)
    )
    model = load(tmp_path / "a")
    assert (model.settings, model.confidences) == (trained.settings, trained.confidences)
    assert all(torch.equal(model.heads.tensors[name], trained.heads[name]) for name in (*NAMES, *PAIR))


@pytest.mark.parametrize("name", [*DIGESTED, SUMS])
def test_a_missing_file_is_named(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(CheckpointError, match=rf"{name} is missing: fetch it again"):
        load(copied)


def test_a_damaged_file_is_named(copied: Path) -> None:
    path = copied / HEADS
    path.write_bytes(path.read_bytes()[:-4] + b"oops")
    with pytest.raises(CheckpointError, match=f"{HEADS} is damaged"):
        load(copied)


def test_a_config_that_lacks_a_number_is_refused(copied: Path) -> None:
    settings = json.loads((copied / CONFIG).read_text())
    settings.pop("max_entities")
    (copied / CONFIG).write_text(json.dumps(settings))
    write_sums(copied, DIGESTED)
    with pytest.raises(CheckpointError, match="not a whole checkpoint"):
        load(copied)


def test_heads_that_are_not_all_there_are_refused() -> None:
    trained = tiny()
    heads = {name: value for name, value in trained.heads.items() if name != "rank.weight"}
    short = Trained(trained.settings, trained.adapters, heads, trained.bend, trained.confidences)
    with pytest.raises(CheckpointError, match=r"lacks rank\.weight"):
        assemble(find(), short)


def test_it_is_small_enough_to_be_kept_in_git() -> None:
    assert sum(path.stat().st_size for path in DEFAULT.iterdir()) < 15 * 2**20
