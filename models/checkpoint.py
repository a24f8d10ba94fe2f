"""Checkpoints as files: located, read once and without unpickling, and shown to be the ones that were written.

A checkpoint is a folder, or a hub repository at one pinned commit. It holds config.json and weights:
model.safetensors or pytorch_model.bin, whole or in shards; else the only *.safetensors or *.bin there is, which is
how UER's models come. Our checkpoints hold SHA256SUMS too: all files match it, or nothing is loaded.

Tensors are copied into new memory. A map of the file would change, or end the process, with every `cp` over a
file that is served, and its tensors lie at any address.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from tokenizers import Tokenizer
from torch import Tensor

CONFIG, WEIGHTS, PICKLED_WEIGHTS = "config.json", "model.safetensors", "pytorch_model.bin"
COMMIT = re.compile(r"[0-9a-f]{40}")
REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
PATTERNS = (CONFIG, "model*.safetensors*", "pytorch_model*.bin*", "vocab.*", "tokenizer.json")
SUMS = "SHA256SUMS"
ADVICE = "fetch it again, or train the checkpoint with `make train`"


class CheckpointError(ValueError):
    """Files that are not a whole model. The sentence names the file or the tensors."""


def locate(name_or_folder: str | Path, revision: str | None) -> Path:
    """Find the checkpoint's folder, and fetch it from the hub if need be.

    Args:
        name_or_folder: A folder, or a repository of the hub.
        revision: Commit of the repository, 40 hex digits; required for a hub name, refused for a folder.

    Raises:
        CheckpointError: There is no such folder or commit, or the hub cannot be reached.
    """
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
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(PATTERNS)))
    except Exception as cause:
        raise CheckpointError(f"{name} at {revision} cannot be fetched from the hub: {cause}") from cause


def read_config(folder: Path) -> dict[str, Any]:
    """Read the JSON object in the folder's config.json."""
    path = folder / CONFIG
    if not path.is_file():
        raise CheckpointError(f"{folder} has no {CONFIG}: not a checkpoint folder")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise CheckpointError(f"{path} is not JSON: {cause}") from cause
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return config


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read all weights of the folder by name, on the CPU in float32."""
    tensors: dict[str, Tensor] = {}
    for path in _weight_files(folder):
        try:
            content: Any = (
                parse_tensors(path.read_bytes(), path)
                if path.suffix == ".safetensors"
                else torch.load(path, map_location="cpu", weights_only=True)
            )
        except CheckpointError:
            raise
        except Exception as cause:
            raise CheckpointError(f"{path} cannot be read as tensors ({cause}); fetch it again") from cause
        if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
            raise CheckpointError(f"{path} is not a mapping of names to tensors")
        tensors |= {
            name: value.float() if value.is_floating_point() else value for name, value in content.items()
        }
    return tensors


def _weight_files(folder: Path) -> list[Path]:
    for name in (WEIGHTS, PICKLED_WEIGHTS):
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [folder / name]
        if index.is_file():
            try:
                shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, KeyError, TypeError, AttributeError) as cause:
                raise CheckpointError(f"{index} does not say which tensor lies in which file") from cause
            if not all(isinstance(shard, str) and shard == Path(shard).name for shard in shards):
                raise CheckpointError(f"{index} names files outside of its folder")
            return [folder / shard for shard in sorted(shards)]
    candidates = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")])
    if len(candidates) == 1:
        return candidates
    names = f": which of {', '.join(path.name for path in candidates)}?" if candidates else ""
    raise CheckpointError(f"{folder} has neither {WEIGHTS} nor {PICKLED_WEIGHTS}{names}")


@dataclass(frozen=True)
class Contents:
    """Files of a checkpoint, each read once: the bytes that SHA256SUMS lists are those that are loaded.

    Attributes:
        folder: The checkpoint.
        digest: Digest of all of them, `sha256:...`.
        files: The bytes of each, by name.
    """

    folder: Path
    digest: str
    files: Mapping[str, bytes]

    def json(self, name: str) -> Any:
        """Parse a file of JSON.

        Raises:
            CheckpointError: It holds no JSON.
        """
        try:
            return json.loads(self.files[name])
        except ValueError as cause:
            raise CheckpointError(f"{self.folder / name} is not JSON: {cause}") from cause

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Parse a safetensors file.

        Raises:
            CheckpointError: It is none.
        """
        return parse_tensors(self.files[name], self.folder / name)

    def tokenizer(self, name: str) -> Tokenizer:
        """Parse a file of the tokenizers library.

        Raises:
            CheckpointError: It is none.
        """
        try:
            return Tokenizer.from_buffer(self.files[name])
        except Exception as cause:  # tokenizers raises plain Exceptions
            raise CheckpointError(f"{self.folder / name} cannot be read as a tokenizer: {cause}") from cause


def read_verified(folder: Path, names: Sequence[str], tables: Sequence[str] = ()) -> Contents:
    """Read files of a checkpoint and check them against SHA256SUMS.

    Args:
        folder: The checkpoint.
        names: Files to read.
        tables: Further files that are checked, and stay on the disk.

    Raises:
        CheckpointError: A file is missing or damaged; the text names it.
    """
    lines = (
        line.partition("  ") for line in _read_bytes(folder / SUMS).decode(errors="replace").splitlines()
    )
    sums = {name: digest for digest, _, name in lines}
    total = hashlib.sha256()
    files: dict[str, bytes] = {}
    for name in (*names, *tables):
        data = _read_bytes(folder / name)
        content = hashlib.sha256(data)
        if sums.get(name) != content.hexdigest():
            raise CheckpointError(f"{folder / name} is damaged: {SUMS} lists another content; {ADVICE}")
        total.update(content.digest())
        if name not in tables:
            files[name] = data
    return Contents(folder, "sha256:" + total.hexdigest(), files)


def parse_tensors(data: bytes, path: Path) -> dict[str, Tensor]:
    """Parse the bytes of a safetensors file into tensors at addresses that torch aligns.

    Args:
        data: The bytes.
        path: Where they come from, for an error.

    Raises:
        CheckpointError: They are cut, too long, or no such file.
    """
    try:
        return {name: value.clone() for name, value in parse(data).items()}
    except (SafetensorError, ValueError) as cause:
        raise CheckpointError(f"{path} cannot be read as tensors ({cause}); {ADVICE}") from cause


def write_sums(folder: Path, names: Sequence[str]) -> None:
    """Write SHA256SUMS for the files of a finished checkpoint, as `sha256sum` does."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in names]
    (folder / SUMS).write_text("\n".join(sums) + "\n")


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as cause:
        raise CheckpointError(f"{path} is missing: {ADVICE}") from cause


def shorten(names: Sequence[str], limit: int = 5) -> str:
    """List the first names in one line, and count the others."""
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + rest
