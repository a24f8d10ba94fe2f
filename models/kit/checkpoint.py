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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

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
        revision: Commit of the repository, 40 hex digits; required for a hub name, refused for a folder.

    CheckpointError: there is no such folder or commit, or the hub cannot be reached.
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
    """Files of a checkpoint, each read once: the bytes that SHA256SUMS lists are those that are loaded."""

    folder: Path
    digest: str  # digest of all of them, `sha256:...`
    files: Mapping[str, bytes]

    def json(self, name: str) -> Any:
        """Parse a file of JSON. CheckpointError: it holds no JSON."""
        try:
            return json.loads(self.files[name])
        except ValueError as cause:
            raise CheckpointError(f"{self.folder / name} is not JSON: {cause}") from cause

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Parse a safetensors file. CheckpointError: it is none."""
        return parse_tensors(self.files[name], self.folder / name)

    def floats(self, name: str) -> dict[str, Tensor]:
        """Parse a safetensors file of numbers, as float32 whatever they are stored in."""
        return {key: value.float() for key, value in self.tensors(name).items()}

    def tokenizer(self, name: str) -> Tokenizer:
        """Parse a file of the tokenizers library. CheckpointError: it is none."""
        try:
            return Tokenizer.from_buffer(self.files[name])
        except Exception as cause:  # tokenizers raises plain Exceptions
            raise CheckpointError(f"{self.folder / name} cannot be read as a tokenizer: {cause}") from cause

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Turn what goes wrong with files that lack something into a CheckpointError that names the folder."""
        try:
            yield
        except CheckpointError:
            raise
        except (KeyError, TypeError, ValueError, RuntimeError) as cause:
            raise CheckpointError(f"{self.folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause


def read_verified(folder: Path, names: Sequence[str], tables: Sequence[str] = ()) -> Contents:
    """Read files of a checkpoint and check them against SHA256SUMS; `tables` are checked, and stay on the disk.

    CheckpointError: a file is missing or damaged; the text names it.
    """
    sums, total, files = read_sums(folder), hashlib.sha256(), dict[str, bytes]()
    for name in (*names, *tables):
        data = _read_bytes(folder / name)
        content = hashlib.sha256(data)
        if sums.get(name) != content.hexdigest():
            raise CheckpointError(f"{folder / name} is damaged: {SUMS} lists another content; {ADVICE}")
        total.update(content.digest())
        if name not in tables:
            files[name] = data
    return Contents(folder, "sha256:" + total.hexdigest(), files)


def read_sums(folder: Path) -> dict[str, str]:
    """Return file -> digest as SHA256SUMS lists them."""
    lines = _read_bytes(folder / SUMS).decode(errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def parse_tensors(data: bytes, path: Path) -> dict[str, Tensor]:
    """Parse the bytes of a safetensors file at `path` into tensors at addresses that torch aligns.

    CheckpointError: they are cut, too long, or no such file.
    """
    try:
        return {name: value.clone() for name, value in parse(data).items()}
    except (SafetensorError, ValueError) as cause:
        raise CheckpointError(f"{path} cannot be read as tensors ({cause}); {ADVICE}") from cause


def fill(module: nn.Module, tensors: Mapping[str, Tensor], source: object, assign: bool = False) -> None:
    """Put tensors into a module, in place; of the names of one shared tensor any is enough.

    Args:
        assign: Whether the module takes the tensors themselves, which saves a copy.

    CheckpointError: tensors are missing, unknown, of another shape or not finite; the sentence names them all.
    """
    expected = module.state_dict(keep_vars=True)
    present = {id(expected[name]) for name in expected.keys() & tensors.keys()}
    common = sorted(expected.keys() & tensors.keys())
    problems = {
        "lacks": [name for name, value in expected.items() if id(value) not in present],
        "has no place for": sorted(tensors.keys() - expected.keys()),
        "has in another shape than its settings say": [
            name for name in common if tensors[name].shape != expected[name].shape
        ],
        "has numbers that are not finite in": [
            name for name in common if not bool(tensors[name].isfinite().all())
        ],
    }
    sentences = [f"{verb} {shorten(names)}" for verb, names in problems.items() if names]
    if sentences:
        raise CheckpointError(f"{source} {' and '.join(sentences)}: {ADVICE}")
    module.load_state_dict(dict(tensors), strict=False, assign=assign)


def save(
    folder: Path,
    tensors: Mapping[str, Mapping[str, Tensor]],
    settings: Mapping[str, Any],
    further: Sequence[str] = (),
) -> None:
    """Write files of tensors and of JSON, by their names, and SHA256SUMS over them and `further` files that lie there.

    Equal content gives equal bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in tensors.items():
        save_file({key: content[key].contiguous() for key in sorted(content)}, folder / name)
    for name, value in settings.items():
        (folder / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_sums(folder, (*settings, *tensors, *further))


def differing(state: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that training changed: those that the base lacks or has with other numbers."""
    return {name: value for name, value in state.items() if name not in base or not value.equal(base[name])}


def fitting(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that a model has, too, under the same name and in the same shape."""
    return {
        name: value
        for name, value in tensors.items()
        if name in expected and value.shape == expected[name].shape
    }


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
