"""SHA256SUMS of a checkpoint folder: each file is the one that was written with the others, or nothing is loaded."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from models.stored.files import CheckpointError

SUMS = "SHA256SUMS"
ADVICE = "fetch it again, or train the checkpoint with `make train`"


def digest(folder: Path, names: Sequence[str]) -> str:
    """Of all files. CheckpointError names the one that is missing or damaged."""
    recorded = _recorded(folder)
    total = hashlib.sha256()
    for name in names:
        found = hashlib.sha256(_bytes(folder / name))
        if recorded.get(name) != found.hexdigest():
            raise CheckpointError(f"{folder / name} is damaged: {SUMS} lists another content; {ADVICE}")
        total.update(found.digest())
    return "sha256:" + total.hexdigest()


def record(folder: Path, names: Sequence[str]) -> None:
    """Write down what the files of a finished checkpoint are, as `sha256sum` does."""
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in names]
    (folder / SUMS).write_text("\n".join(sums) + "\n")


def _recorded(folder: Path) -> dict[str, str]:
    lines = (line.partition("  ") for line in _bytes(folder / SUMS).decode(errors="replace").splitlines())
    return {name: digest for digest, _, name in lines}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as cause:
        raise CheckpointError(f"{path} is missing: {ADVICE}") from cause
