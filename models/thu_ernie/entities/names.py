"""The row of each entity in the table: an index of names that stays on the disk.

A dictionary of five million names would take half a gigabyte in each process. Here a name is its hash of 64 bits: two
of five million share one with a probability of 1 in 1.5 million, and a table in which two do is refused.

names.safetensors    hash and row [entity], sorted by hash
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from models.checkpoint import CheckpointError
from models.thu_ernie.entities.mapped import NEW, MappedArrays

NO_ENTITY = 0  # Row of zeros, which no entity has
TEXT = "="  # prefix of a literal value in the name of its row


def row_name(text: str, object_id: str) -> str:
    """Return the name of the row of an object: its id, or its text if it is no entity."""
    return object_id or TEXT + text


@dataclass(frozen=True, eq=False)
class EntityNames:
    """The index, mapped from its file. Thread-safe."""

    hashes: NDArray[np.int64]
    rows: NDArray[np.int32]

    @staticmethod
    def open(path: Path) -> "EntityNames":
        """Map the index of a file; raise CheckpointError if it is none."""
        arrays = MappedArrays.open(path, "hash", "row").arrays
        return EntityNames(arrays["hash"], arrays["row"])

    def row_of(self, name: str) -> int:
        """Return the row of an entity, NO_ENTITY where no row has this name."""
        value = hash_of(name)
        place = int(np.searchsorted(self.hashes, value))
        is_found = place < len(self.hashes) and self.hashes[place] == value
        return int(self.rows[place]) if is_found else NO_ENTITY


def hash_of(name: str) -> int:
    """Return the 64 bits by which names are sorted."""
    data = name.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def write_names(path: Path, names: Iterable[tuple[str, int]], n_rows: int) -> int:
    """Write the index of names and their rows, and return how many there are.

    Args:
        path: A file; it is replaced at the end.
        names: Each entity with its row, from 1 on. An entity takes 12 bytes until all are sorted.
        n_rows: Rows of the table, the zero row included.

    Raises:
        CheckpointError: A row is outside of the table, or two entities have one row or one name.
    """
    hashes, rows = array("q"), array("i")
    for name, row in names:
        if not 0 < row < n_rows:
            raise CheckpointError(
                f"the entity {name} has the id {row - 1}, and the table has {n_rows - 1:,} vectors"
            )
        hashes.append(hash_of(name))
        rows.append(row)
    index = _sort(np.array(hashes, "<i8"), np.array(rows, "<i4"))
    new_path = path.with_name(path.name + NEW)
    save_file(index, new_path)
    new_path.replace(path)
    return len(rows)


def _sort(hashes: NDArray[np.int64], rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Sort by hash, and refuse two entities of one name or of one row."""
    order = np.argsort(hashes, kind="stable")
    hashes, sorted_rows = hashes[order], np.sort(rows)
    same_name, same_row = (np.flatnonzero(a[1:] == a[:-1]) for a in (hashes, sorted_rows))
    if len(same_name):
        first, second = (int(rows[order[same_name[0] + n]]) - 1 for n in (0, 1))
        raise CheckpointError(f"the entities of the ids {first} and {second} have one name")
    if len(same_row):
        raise CheckpointError(f"two entities have the id {int(sorted_rows[same_row[0]]) - 1}")
    return {"hash": hashes, "row": rows[order]}
