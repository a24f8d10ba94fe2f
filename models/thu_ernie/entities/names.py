"""Which row of the table an entity has: an index of names that stays on the disk.

A dictionary of five million names would take half a gigabyte in each process. Here the names are sorted by a hash of 64
bits, and a name is found by bisection and then compared letter by letter, so that two names of one hash stay apart.

names.safetensors    hash, row, start and end [entity], sorted by hash; letters: all names in UTF-8
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
MAX_LETTERS = (1 << 31) - 1  # Bytes of all names together, for places of 32 bits


@dataclass(frozen=True, eq=False)
class EntityNames:
    """The index, mapped from its file. Thread-safe."""

    hashes: NDArray[np.int64]
    rows: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    letters: NDArray[np.uint8]

    @staticmethod
    def open(path: Path) -> "EntityNames":
        """Map the index of a file; CheckpointError where it is none."""
        arrays = MappedArrays.open(path, "hash", "row", "start", "end", "letters").arrays
        return EntityNames(*arrays.values())

    def row_of(self, name: str) -> int:
        """Return the row of an entity, NO_ENTITY where no row has this name."""
        data = name.encode(errors="surrogatepass")
        value = hash_of(data)
        place = int(np.searchsorted(self.hashes, value))
        while place < len(self.hashes) and self.hashes[place] == value:
            if self.letters[self.starts[place] : self.ends[place]].tobytes() == data:
                return int(self.rows[place])
            place += 1
        return NO_ENTITY


def hash_of(data: bytes) -> int:
    """Return the 64 bits by which names are sorted."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def write_names(path: Path, names: Iterable[tuple[str, int]], n_rows: int) -> int:
    """Write the index of names and their rows, and return how many there are.

    Args:
        path: A file; it is replaced at the end.
        names: Each entity with its row, from 1 on. They are kept at 30 bytes and a name each.
        n_rows: Rows of the table, the zero row included.

    Raises:
        CheckpointError: A row is outside of the table, or two entities have one row or one name.
    """
    hashes, rows, ends, letters = array("q"), array("i"), array("q"), bytearray()
    for name, row in names:
        if not 0 < row < n_rows:
            raise CheckpointError(
                f"the entity {name} has the id {row - 1}, and the table has {n_rows - 1:,} vectors"
            )
        data = name.encode()
        letters += data
        hashes.append(hash_of(data))
        rows.append(row)
        ends.append(len(letters))
    if len(letters) > MAX_LETTERS:
        raise CheckpointError(
            f"the names of all entities take {len(letters):,} bytes, more than {MAX_LETTERS:,}"
        )
    content = _sort(np.array(hashes, "<i8"), np.array(rows, "<i4"), np.array(ends, "<i4"))
    content["letters"] = np.frombuffer(letters, np.uint8)
    _check_unique(content)
    new_path = path.with_name(path.name + NEW)
    save_file(content, new_path)
    new_path.replace(path)
    return len(rows)


def _sort(hashes: NDArray[Any], rows: NDArray[Any], ends: NDArray[Any]) -> dict[str, NDArray[Any]]:
    order = np.argsort(hashes, kind="stable")
    starts = np.concatenate([np.zeros(1, "<i4"), ends[:-1]]) if len(ends) else ends
    return {"hash": hashes[order], "row": rows[order], "start": starts[order], "end": ends[order]}


def _check_unique(content: dict[str, NDArray[Any]]) -> None:
    def name(place: int) -> str:
        return content["letters"][content["start"][place] : content["end"][place]].tobytes().decode()

    for place in np.flatnonzero(content["hash"][1:] == content["hash"][:-1]).tolist():
        if name(place) == name(place + 1):
            raise CheckpointError(f"the entity {name(place)} stands in the list of ids twice")
    rows, counts = np.unique(content["row"], return_counts=True)
    if len(rows) != len(content["row"]):
        raise CheckpointError(f"two entities have the id {int(rows[counts > 1][0]) - 1}")
