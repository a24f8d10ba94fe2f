"""The vectors of all entities at one version: a table that never changes, and rows that edits put in front of it.

Zhang et al. (arXiv:1905.07129), section 4.1. Row 0 is zero and stands for no entity; row(id) = id + 1. The table stays
on the disk (`mapped.py`), and an edit copies a row before it changes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from models.checkpoint import SUMS, CheckpointError
from models.graph.knowledge import Entity
from models.thu_ernie.entities.files import FILES, NAMES, ROWS
from models.thu_ernie.entities.mapped import MappedArrays, digest_of_sums
from models.thu_ernie.entities.names import NO_ENTITY, EntityNames


class EntityTable:
    """The table as it was converted. Read-only and thread-safe.

    Attributes:
        digest: Digest of its files, as SHA256SUMS lists them; `read_verified` compares it with the files themselves.
        names: Which row an entity has.
    """

    def __init__(self, rows: MappedArrays, names: EntityNames, digest: str) -> None:
        self._file = rows
        self._rows: NDArray[np.float32] = rows.arrays["rows"]
        self.names, self.digest = names, digest

    @staticmethod
    def open(folder: Path, size: int) -> "EntityTable":
        """Map the table of a folder. Its vectors are not read.

        Args:
            folder: Folder that `convert` wrote.
            size: Width of a vector that the model reads.

        Raises:
            CheckpointError: A file is missing or damaged, or the vectors have another width.
        """
        rows = MappedArrays.open(folder / ROWS, "rows")
        shape = rows.arrays["rows"].shape
        if len(shape) != 2 or not len(rows.arrays["rows"]) or rows.arrays["rows"][0].any():
            raise CheckpointError(f"{folder / ROWS} does not begin with a row of zeros: convert it again")
        if shape[1] != size:
            raise CheckpointError(
                f"{folder / ROWS} has vectors of {shape[1]} numbers and the model reads {size}: take the table that "
                "the model was trained with"
            )
        return EntityTable(rows, EntityNames.open(folder / NAMES), digest_of_sums(folder, SUMS, FILES))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """The width of a vector."""
        return int(self._rows.shape[1])

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place size"]:
        """Return a copy of the vector of each row, on the CPU; each row is read once.

        Raises:
            IndexError: The table has no such row.
        """
        numbers, places = np.unique(rows.flatten().cpu().numpy(), return_inverse=True)
        if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(self):
            raise IndexError(f"rows {numbers[0]} to {numbers[-1]} of a table of {len(self)}")
        vectors = self._file.take("rows", numbers)
        return torch.from_numpy(vectors[places]).view(*rows.shape, self.size)


@runtime_checkable
class SolvesRows(Protocol):
    """Solves the row of an entity whose facts an edit of the graph changed."""

    def solve_edited(self, entity: Entity) -> Float[Tensor, " size"] | None:
        """Return the row of an entity that says its edited facts; None if no edit changed them."""
        ...


@dataclass(frozen=True, eq=False)
class EntityView:
    """The table at one version. Immutable.

    Attributes:
        table: The unedited table.
        vectors: Row -> its vector, where an edit wrote it.
        new: Entities that the table lacks -> their rows, behind those of the table.
        edits: Row -> the edit that wrote it.
        solver: Lets rows that no edit wrote follow the edits of the graph; None leaves them.
    """

    table: EntityTable
    vectors: Mapping[int, Float[Tensor, " size"]] = field(default_factory=dict)
    new: Mapping[str, int] = field(default_factory=dict)
    edits: Mapping[int, str] = field(default_factory=dict)
    solver: SolvesRows | None = None

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
