"""The vectors of all entities at one version: a table that never changes, and rows that edits put in front of it.

Zhang et al. (arXiv:1905.07129), section 4.1. Row 0 is zero and stands for no entity; row(id) = id + 1. The table stays
on the disk, and an edit copies a row before it changes it.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from models.graph.knowledge import Entity
from models.kit.checkpoint import SUMS, CheckpointError
from models.thu_ernie.entities.files import FILES, NAMES, NO_ENTITY, ROWS, EntityNames, map_rows


class EntityTable:
    """The table as it was written. Read-only and thread-safe.

    Its digest is that of its files as SHA256SUMS lists them; `read_verified` compares it with the files themselves.
    """

    def __init__(self, rows: NDArray[np.float32], names: EntityNames, digest: str) -> None:
        self._rows, self.names, self.digest = rows, names, digest

    @staticmethod
    def open(folder: Path, size: int) -> "EntityTable":
        """Map the table of a folder. Its vectors are not read.

        Raises:
            CheckpointError: A file is missing or damaged, or the vectors have another width.
        """
        rows = map_rows(folder / ROWS)
        if rows.ndim != 2 or not len(rows) or rows[0].any():
            raise CheckpointError(f"{folder / ROWS} does not begin with a row of zeros: convert it again")
        if rows.shape[1] != size:
            raise CheckpointError(
                f"{folder / ROWS} has vectors of {rows.shape[1]} numbers and the model reads {size}: take the table "
                "that the model was trained with"
            )
        return EntityTable(rows, EntityNames.open(folder / NAMES), _read_digest(folder))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """The width of a vector."""
        return int(self._rows.shape[1])

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
            f"{folder / SUMS} does not list the files of a table ({cause}): convert it again"
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
        return self.new.get(entity) or self.table.names.row_of(entity)

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
