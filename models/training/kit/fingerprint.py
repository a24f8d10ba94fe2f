"""The fingerprint of a training: trainings with different fingerprints come to different weights."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.encoder.weights import WEIGHTS_SHA256
from models.packs.files import digest

PROJECT = Path(__file__).parents[2]
SUFFIXES = (".jsonl", ".toml", ".tsv", ".txt")


class DataFiles:
    """The data files of the project and of a pack that are read while a block runs.

    So a fingerprint leaves out no text that examples are made of: the files need not be listed anywhere.
    """

    def __init__(self, pack: Path) -> None:
        self._folders = (PROJECT, pack.resolve())
        self.paths: set[Path] = set()

    def __enter__(self) -> "DataFiles":
        _blocks.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _blocks.remove(self)

    def note(self, path: Path) -> None:
        """Note a file that is opened."""
        if any(path.is_relative_to(folder) for folder in self._folders):
            self.paths.add(path)

    def fingerprint(self, plan: Mapping[str, Any], **parts: Any) -> str:
        """Compute the SHA-256 of all that the weights follow from; the frozen encoder always counts."""
        files = sorted(map(digest, self.paths))
        whole = {"encoder": WEIGHTS_SHA256, "plan": plan, "files": files, **parts}
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


_blocks: list[DataFiles] = []


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    """Tell the running blocks of a data file that is opened; Python calls this at each event of its audit."""
    if not _blocks or event != "open" or not isinstance(arguments[0], str | os.PathLike):
        return
    path, mode = Path(arguments[0]), arguments[1] or "r"
    if path.suffix in SUFFIXES and "r" in mode:
        for block in _blocks:
            block.note(path.resolve())


sys.addaudithook(_note_opened)
