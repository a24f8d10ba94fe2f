"""Tensors and config.json of a checkpoint folder, or of a hub repository at one pinned commit. Nothing unpickles.

Read: model.safetensors or pytorch_model.bin, whole or in shards; else the only *.safetensors or *.bin there is,
which is how UER's models come.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

CONFIG, WEIGHTS, PICKLED = "config.json", "model.safetensors", "pytorch_model.bin"
COMMIT = re.compile(r"[0-9a-f]{40}")
REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
WANTED = (CONFIG, "model*.safetensors*", "pytorch_model*.bin*", "vocab.*", "tokenizer.json")


class CheckpointError(ValueError):
    """Files that are not a whole model. The sentence names the file or the tensors."""


def find(name_or_folder: str | Path, revision: str | None) -> Path:
    """The folder, fetched from the hub if need be. revision: 40 hex digits, for a hub name only."""
    folder = Path(name_or_folder)
    if str(name_or_folder) and folder.is_dir():
        if revision is not None:
            raise CheckpointError(f"{folder} is a folder, which has no revision: leave `revision` out")
        return folder
    name = str(name_or_folder)
    if not REPOSITORY.fullmatch(name):
        raise CheckpointError(f"{name!r} is neither a folder nor a name on the hub")
    if revision is None or not COMMIT.fullmatch(revision):
        raise CheckpointError(
            f"{name} is not a folder here; to load it from the hub, pin `revision` to a commit of 40 hex "
            f"digits, not {revision!r}: branches and tags can change under you"
        )
    return _fetch(name, revision)


def read_json(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise CheckpointError(f"{folder} has no {CONFIG}: not a checkpoint folder")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise CheckpointError(f"{path} is not JSON: {cause}") from cause
    if not isinstance(raw, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return raw


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All weights by name, in fp32."""
    tensors: dict[str, Tensor] = {}
    for path in _weight_files(folder):
        tensors |= _read(path)
    return tensors


def _fetch(name: str, revision: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(WANTED)))
    except Exception as cause:
        raise CheckpointError(f"{name} at {revision} cannot be fetched from the hub: {cause}") from cause


def _weight_files(folder: Path) -> list[Path]:
    for name in (WEIGHTS, PICKLED):
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [folder / name]
        if index.is_file():
            return [folder / shard for shard in sorted(set(_shards(index)))]
    alone = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")])
    if len(alone) == 1:
        return alone
    names = f": which of {', '.join(path.name for path in alone)}?" if alone else ""
    raise CheckpointError(f"{folder} has neither {WEIGHTS} nor {PICKLED}{names}")


def _shards(index: Path) -> list[str]:
    """The files that an index names, which all lie beside it."""
    try:
        names = list(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise CheckpointError(f"{index} does not say which tensor lies in which file") from cause
    if not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise CheckpointError(f"{index} names files outside of its folder")
    return names


def _read(path: Path) -> dict[str, Tensor]:
    reader: Callable[[Path], Any] = load_file if path.suffix == ".safetensors" else _tensors_only
    try:
        tensors = reader(path)
    except Exception as cause:
        raise CheckpointError(f"{path} cannot be read as tensors ({cause}); fetch it again") from cause
    if not isinstance(tensors, dict) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise CheckpointError(f"{path} is not a mapping of names to tensors")
    return {name: value.float() if value.is_floating_point() else value for name, value in tensors.items()}


def _tensors_only(path: Path) -> Any:
    return torch.load(path, map_location="cpu", weights_only=True)


def some(names: list[str], most: int = 5) -> str:
    """In one line, not all of very many."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
