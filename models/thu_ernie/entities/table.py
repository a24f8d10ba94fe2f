"""The vectors of all entities at one version: files that never change, and rows that edits put in front of them.

rows.safetensors     rows [row, number]; the first is zero, for a token without an entity
names.safetensors    hash and row [entity], sorted by hash
SHA256SUMS           what both have to be

A name is a hash of 64 bits: two of five million share one with a probability of 1 in 1.5 million, and a table in which
two do is refused. Zhang et al. (arXiv:1905.07129), section 4.1: the vectors are TransE's (Bordes et al., 2013).

Row 0 is zero and stands for no entity; row(id) = id + 1. The table stays
on the disk, and an edit copies a row before it changes it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor

from models.graph.knowledge import Entity
from models.kit.checkpoint import SUMS, CheckpointError, write_sums

ROWS, NAMES = "rows.safetensors", "names.safetensors"
FILES = (ROWS, NAMES)
NO_ENTITY = 0  # Row of zeros, which no entity has
TEXT = "="  # Prefix of a literal value in the name of its row
NEW = ".new"  # Ending of a file that is being written


def row_name(text: str, object_id: str) -> str:
    """Return the name of the row of an object: its id, or its text if it is no entity."""
    return object_id or TEXT + text


def hash_of(name: str) -> int:
    """Return the 64 bits by which names are sorted."""
    data = name.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def map_rows(path: Path) -> NDArray[np.float32]:
    """Map the rows of a table without reading them; raise CheckpointError if the file is none."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(min(size, path.stat().st_size)))["rows"]
        return np.memmap(path, "<f4", "r", 8 + size, tuple(entry["shape"]))
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise _damage(path, cause) from cause


def _damage(path: Path, cause: Exception) -> CheckpointError:
    return CheckpointError(f"{path} is not a whole table of entities ({cause}): fetch it again")


def write_table(
    target: Path, width: int, vectors: Iterable[NDArray[np.float32]], ids: Iterable[tuple[str, int]]
) -> int:
    """Write the files of a table, and return how many vectors it has.

    Args:
        target: A folder. A process that maps an earlier table in it keeps that.
        width: Numbers of a vector.
        vectors: Pieces of the table [row, width], in the order of the ids.
        ids: Names of entities and their ids; row(id) = id + 1. A vector may be without a name.

    Raises:
        CheckpointError: An id has no vector, or two entities have one id or one name.
    """
    rows = np.concatenate([np.zeros((1, width), np.float32), *vectors])
    index = _sort_names(list(ids), len(rows))
    target.mkdir(parents=True, exist_ok=True)
    contents: tuple[tuple[str, dict[str, Any]], ...] = (ROWS, {"rows": rows}), (NAMES, index)
    for name, arrays in contents:
        save_file(arrays, target / f"{name}{NEW}")
        (target / f"{name}{NEW}").replace(target / name)
    write_sums(target, FILES)
    return len(rows) - 1


def _sort_names(ids: list[tuple[str, int]], n_rows: int) -> dict[str, NDArray[Any]]:
    """Sort names by hash, and refuse two entities of one name or of one row."""
    for name, id in ids:
        if not 0 <= id < n_rows - 1:
            raise CheckpointError(
                f"the entity {name} has the id {id}, and the table has {n_rows - 1:,} vectors"
            )
    hashes = np.array([hash_of(name) for name, _ in ids], "<i8")
    rows = np.array([id + 1 for _, id in ids], "<i4")
    order = np.argsort(hashes, kind="stable")
    hashes, sorted_rows = hashes[order], np.sort(rows)
    same_name, same_row = (np.flatnonzero(a[1:] == a[:-1]) for a in (hashes, sorted_rows))
    if len(same_name):
        first, second = (int(rows[order[same_name[0] + n]]) - 1 for n in (0, 1))
        raise CheckpointError(f"the entities of the ids {first} and {second} have one name")
    if len(same_row):
        raise CheckpointError(f"two entities have the id {int(sorted_rows[same_row[0]]) - 1}")
    return {"hash": hashes, "row": rows[order]}


class EntityTable:
    """The table as it was written. Read-only and thread-safe.

    Its digest is that of its files as SHA256SUMS lists them; `read_verified` compares it with the files themselves.
    """

    def __init__(self, rows: NDArray[np.float32], index: Mapping[str, NDArray[Any]], digest: str) -> None:
        self._rows, self._hashes, self._numbers, self.digest = rows, index["hash"], index["row"], digest

    @staticmethod
    def open(folder: Path, size: int) -> "EntityTable":
        """Map the table of a folder. Its vectors are not read.

        Raises:
            CheckpointError: A file is missing or damaged, or the vectors have another width.
        """
        rows = map_rows(folder / ROWS)
        if rows.ndim != 2 or not len(rows) or rows[0].any():
            raise CheckpointError(f"{folder / ROWS} does not begin with a row of zeros: fetch it again")
        if rows.shape[1] != size:
            raise CheckpointError(
                f"{folder / ROWS} has vectors of {rows.shape[1]} numbers and the model reads {size}: take the table "
                "that the model was trained with"
            )
        try:
            return EntityTable(rows, load_file(folder / NAMES), _read_digest(folder))
        except (OSError, SafetensorError, KeyError) as cause:
            raise _damage(folder / NAMES, cause) from cause

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """The width of a vector."""
        return int(self._rows.shape[1])

    def row_of(self, name: str) -> int:
        """Return the row of an entity, NO_ENTITY where no row has this name."""
        value = hash_of(name)
        place = int(np.searchsorted(self._hashes, value))
        is_known = place < len(self._hashes) and self._hashes[place] == value
        return int(self._numbers[place]) if is_known else NO_ENTITY

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place size"]:
        """Return a copy of the vector of each row, on the CPU.

        Raises:
            IndexError: The table has no such row.
        """
        numbers = rows.flatten().cpu().numpy()
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"rows {numbers.min()} to {numbers.max()} of a table of {len(self)}")
        return torch.from_numpy(np.array(self._rows[numbers])).view(*rows.shape, self.size)


def _read_digest(folder: Path) -> str:
    """Return the digest that `read_verified` gives, by the sums that the folder lists and without reading the files."""
    try:
        lines = (line.partition("  ") for line in (folder / SUMS).read_text(encoding="utf-8").splitlines())
        digests = {name: digest for digest, _, name in lines}
        content = b"".join(bytes.fromhex(digests[name]) for name in FILES)
    except (OSError, ValueError, KeyError) as cause:
        raise CheckpointError(
            f"{folder / SUMS} does not list the files of a table ({cause}): fetch it again"
        ) from cause
    return "sha256:" + hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, eq=False)
class EntityView:
    """The table at one version. Immutable."""

    table: EntityTable
    vectors: Mapping[int, Float[Tensor, " size"]] = field(default_factory=dict)  # rows that edits wrote
    new: Mapping[str, int] = field(
        default_factory=dict
    )  # entities that the table lacks -> rows behind those it has
    edits: Mapping[int, str] = field(default_factory=dict)  # row -> the edit that wrote it
    # Returns the row of an entity whose facts an edit of the graph changed, and None for others.
    solve_edited: Callable[[Entity], Float[Tensor, " size"] | None] | None = None

    @property
    def size(self) -> int:
        """The width of a vector."""
        return self.table.size

    def row_of(self, entity: str) -> int:
        """Return the row of an entity, NO_ENTITY where neither the table nor an edit has it."""
        return self.new.get(entity) or self.table.row_of(entity)

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place size"]:
        """Return the vector of each row, on the CPU."""
        if not self.vectors:
            return self.table.look_up(rows)
        flat = rows.flatten().cpu()
        vectors = self.table.look_up(torch.where(flat < len(self.table), flat, NO_ENTITY))
        for place in torch.isin(flat, self._numbers).nonzero().flatten().tolist():
            vectors[place] = self.vectors[int(flat[place])]
        return vectors.view(*rows.shape, self.size)

    @cached_property
    def _numbers(self) -> Int[Tensor, " edited"]:
        return torch.tensor(list(self.vectors), dtype=torch.long)
