"""Files of checkpoints: what is damaged is named, and what is loaded stays, whatever happens to the file."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from models.backpack import reader as backpack
from models.encoder.minilm import MiniLM
from models.ernie_doc import checkpoint as ernie_doc
from models.kbert import checkpoint as kbert
from models.kit.checkpoint import (
    SUMS,
    CheckpointError,
    differing,
    fill,
    parse_tensors,
    read_verified,
    save,
    write_sums,
)
from models.nkb import reader as nkb
from models.relational import checkpoint as relational
from models.scope import judge
from models.scope.probe_index import ProbeIndex
from models.systems import SYSTEMS
from models.thu_ernie import checkpoint as thu_ernie
from models.torch_private import ALIGNMENT

CHECKPOINTS = Path(nkb.__file__).parents[1] / "checkpoints"
LOADERS: dict[str, Callable[[Path], object]] = {
    "nkb": nkb.Reader.load,
    "kbert": kbert.load,
    "relational": relational.load,
    "thu-ernie": thu_ernie.load,
    "ernie-doc": ernie_doc.load,
    "backpack": backpack.Reader.load,
    "scope": lambda folder: judge.Judge.load(MiniLM(), folder),
    "nkb-probes": lambda folder: ProbeIndex.load(folder.with_name("nkb"), None),
}
FILES = [
    f"{folder}/{line.split()[1]}"
    for folder in LOADERS
    for line in (CHECKPOINTS / folder / SUMS).read_text("utf-8").splitlines()
]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut by 100 bytes": lambda data: data[:-100],
    "a byte too much": lambda data: data + b"\0",
    "one bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


def numbers() -> dict[str, torch.Tensor]:
    return {"odd": torch.arange(3, dtype=torch.int8), "rows": torch.linspace(0, 1, 96).reshape(4, 24)}


def link(name: str, folder: Path) -> Path:
    """Return a file in a folder of links to the other files of its checkpoint."""
    checkpoint = CHECKPOINTS / name.split("/")[0]
    for path in filter(Path.is_file, checkpoint.rglob("*")):
        target = folder / path.relative_to(CHECKPOINTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path)
    return folder / name


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_any_system_is_named(tmp_path: Path, name: str, damage: str) -> None:
    path = link(name, tmp_path)
    content = DAMAGES[damage](path.read_bytes())
    path.unlink()
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as refusal:
        LOADERS[name.split("/")[0]](tmp_path / name.split("/")[0])
    assert f"{path} is damaged: SHA256SUMS lists another content" in str(refusal.value)


@pytest.mark.parametrize("name", [*FILES, *(f"{folder}/{SUMS}" for folder in LOADERS)])
def test_a_missing_file_of_any_system_is_named(tmp_path: Path, name: str) -> None:
    path = link(name, tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match=rf"{path.name} is missing: fetch it again, or train"):
        LOADERS[name.split("/")[0]](tmp_path / name.split("/")[0])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_checkpoint_of_any_system_is_small_enough_to_be_kept_in_git(name: str) -> None:
    assert sum(path.stat().st_size for path in (CHECKPOINTS / name).iterdir()) < 40e6


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


def shared_layers() -> torch.nn.Sequential:
    """Two linear layers that share their weight."""
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    layers[1].weight = layers[0].weight
    return layers


def test_all_that_does_not_fit_is_in_one_sentence() -> None:
    tensors = {
        "0.weight": torch.zeros(3, 2),
        "1.bias": torch.tensor([1.0, torch.nan, 2.0]),
        "odd": torch.ones(1),
    }
    with pytest.raises(CheckpointError) as refusal:
        fill(shared_layers(), tensors, "folder")
    assert str(refusal.value).startswith(
        "folder lacks 0.bias and has no place for odd and has in another shape than its settings say 0.weight "
        "and has numbers that are not finite in 1.bias: "
    )


def test_a_shared_tensor_is_needed_under_one_of_its_names() -> None:
    module, weight = shared_layers(), torch.full((3, 3), 2.0)
    fill(module, {"1.weight": weight, "0.bias": torch.ones(3), "1.bias": torch.ones(3)}, "folder")
    assert module[0].weight is module[1].weight
    assert torch.equal(module[0].weight, weight)


def test_equal_content_is_saved_as_equal_bytes_with_its_sums(tmp_path: Path) -> None:
    content = numbers()
    save(tmp_path / "a", {"t.safetensors": content}, {"s.json": {"b": "ü", "a": 1}})
    save(tmp_path / "b", {"t.safetensors": dict(reversed(content.items()))}, {"s.json": {"b": "ü", "a": 1}})
    names = ("t.safetensors", "s.json", "SHA256SUMS")
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
    contents = read_verified(tmp_path / "a", names[:2])
    assert contents.json("s.json") == {"b": "ü", "a": 1}
    assert all(
        torch.equal(contents.floats("t.safetensors")[name], value.float()) for name, value in content.items()
    )


def test_only_what_training_changed_is_stored() -> None:
    base = {"a": torch.ones(2), "b": torch.ones(2)}
    assert differing({"a": torch.ones(2), "b": torch.zeros(2), "c": torch.ones(1)}, base).keys() == {"b", "c"}
