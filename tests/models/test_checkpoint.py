"""Files of checkpoints: what is damaged is named, and what is loaded stays, whatever happens to the file."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from models.backpack.answering import reader as backpack
from models.checkpoint import CheckpointError, parse_tensors, read_verified, write_sums
from models.encoder.layers import QuickLayers
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.loading import checkpoint as ernie_doc
from models.kbert import checkpoint as kbert
from models.nkb import reader as nkb
from models.relational import checkpoint as relational
from models.scope import judge
from models.scope.probe_index import ProbeIndex
from models.thu_ernie.answering import checkpoint as thu_ernie
from models.torch_private import ALIGNMENT

CHECKPOINTS = Path(nkb.__file__).parents[1] / "checkpoints"
LOADERS: dict[str, Callable[[Path], object]] = {
    "nkb/model.safetensors": nkb.Reader.load,
    "nkb/reference.safetensors": nkb.Reader.load,
    "nkb/subjects.safetensors": nkb.Reader.load,
    "kbert/heads.safetensors": kbert.load,
    "kbert/adapters.safetensors": kbert.load,
    "relational/model.safetensors": relational.load,
    "thu-ernie/model.safetensors": thu_ernie.load,
    "thu-ernie/entities/rows.safetensors": thu_ernie.load,
    "ernie-doc/model.safetensors": ernie_doc.load,
    "backpack/model.safetensors": backpack.Reader.load,
    "scope/model.safetensors": lambda folder: judge.Judge.load(MiniLM(), folder),
    "encoder/layers.onnx": lambda folder: QuickLayers(find().weights, folder),
    "nkb-probes/vectors.safetensors": lambda folder: ProbeIndex.load(folder.with_name("nkb"), None),
}
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut by 100 bytes": lambda data: data[:-100],
    "a byte too much": lambda data: data + b"\0",
    "one bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


def numbers() -> dict[str, torch.Tensor]:
    return {"odd": torch.arange(3, dtype=torch.int8), "rows": torch.linspace(0, 1, 96).reshape(4, 24)}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", LOADERS)
def test_a_damaged_file_of_any_system_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder, file = name.split("/", 1)
    shutil.copytree(CHECKPOINTS / folder, tmp_path / folder)
    path = tmp_path / folder / file
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(CheckpointError) as refusal:
        LOADERS[name](tmp_path / folder)
    assert f"{path} is damaged: SHA256SUMS lists another content" in str(refusal.value)


@pytest.mark.parametrize("damage", ["cut by 100 bytes", "a byte too much"])
def test_a_file_that_is_damaged_and_listed_so_is_no_tensors(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "model.safetensors"
    save_file(numbers(), path)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    write_sums(tmp_path, (path.name,))
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as tensors"):
        read_verified(tmp_path, (path.name,)).tensors(path.name)


def test_a_file_that_is_replaced_while_it_is_served_changes_no_tensor(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(numbers(), path)
    write_sums(tmp_path, (path.name,))
    tensors = read_verified(tmp_path, (path.name,)).tensors(path.name)
    with path.open("r+b") as file:  # as `cp` writes: into the same file
        file.truncate(0)
        file.write(b"\xff" * 64)
    assert all(torch.equal(tensors[name], value) for name, value in numbers().items())


def test_tensors_lie_at_aligned_addresses(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(numbers(), path)
    tensors = parse_tensors(path.read_bytes(), path)
    assert {value.data_ptr() % ALIGNMENT for value in tensors.values()} == {0}


def test_files_that_stay_on_the_disk_are_checked_and_not_read(tmp_path: Path) -> None:
    for name in ("a.json", "table"):
        (tmp_path / name).write_text("{}")
    write_sums(tmp_path, ("a.json", "table"))
    contents = read_verified(tmp_path, ("a.json",), ("table",))
    assert contents.files.keys() == {"a.json"}
    assert contents.digest == read_verified(tmp_path, ("a.json", "table")).digest
    (tmp_path / "table").write_text("{ }")
    with pytest.raises(CheckpointError, match="table is damaged"):
        read_verified(tmp_path, ("a.json",), ("table",))
