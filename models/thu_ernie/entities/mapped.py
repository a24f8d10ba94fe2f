"""Arrays of a safetensors file that stay on the disk: mapped into memory, and written row by row.

The table of five million entities has 2 GB, of which an answer reads a few rows. A map shares its pages between
processes, but Linux may make 2 MB of the file resident for each row that is read. A file counts the chunks of that size
that it reads, and gives all of them back before they are too many.
"""

import hashlib
import json
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.checkpoint import CheckpointError

DTYPES = {"F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8}
HEADER_BYTES = 256  # Room for the header of one array, whose number of rows is known last
NEW = ".new"  # Ending of a file that is being written
CHUNK_BITS = 21  # Bits of a place within a chunk: the largest folio of the page cache has 2 MB
MAX_CHUNKS = 64  # Chunks of one file that stay resident, 128 MB
MAX_HEADER = 1 << 16  # Bytes that a header may have; a longer one belongs to another file


@dataclass(frozen=True)
class MappedArrays:
    """The arrays of one file, read-only.

    Attributes:
        arrays: By name.
        memory: The map that they lie in.
        chunks: Chunks of the file that may be resident. Threads that read at once may count a few too little.
    """

    arrays: Mapping[str, NDArray[Any]]
    memory: mmap.mmap
    chunks: set[int] = field(default_factory=set)

    @staticmethod
    def open(path: Path, *names: str) -> "MappedArrays":
        """Map a file that holds arrays of these names.

        Raises:
            CheckpointError: The file is missing, or is no safetensors file with these arrays.
        """
        try:
            with path.open("rb") as file:
                memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            start = 8 + int.from_bytes(memory[:8], "little")
            if start > MAX_HEADER:
                raise ValueError(f"its header would have {start:,} bytes")
            header = json.loads(memory[8:start])
            return MappedArrays({name: _view(memory, start, header[name]) for name in names}, memory)
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise CheckpointError(
                f"{path} is not a whole table of entities ({cause}): convert it again"
            ) from cause

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return a copy of some rows of an array; raise IndexError if it lacks one.

        Args:
            name: Name of the array.
            rows: Their numbers, ascending, so that each chunk is read once.
        """
        array = self.arrays[name]
        row_bytes = array.nbytes // max(1, len(array))
        values = np.empty((len(rows), *array.shape[1:]), array.dtype)
        for start in range(0, len(rows), MAX_CHUNKS):
            part = rows[start : start + MAX_CHUNKS]
            self._count(set((part * row_bytes >> CHUNK_BITS).tolist()))
            np.take(array, part, 0, out=values[start : start + MAX_CHUNKS])
        return values

    def _count(self, chunks: set[int]) -> None:
        """Give the pages of the whole file back where these chunks would make too many resident."""
        if len(self.chunks | chunks) > MAX_CHUNKS:
            self.memory.madvise(mmap.MADV_DONTNEED)
            self.chunks.clear()
        self.chunks.update(chunks)


def _view(memory: mmap.mmap, start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    first, last = entry["data_offsets"]
    if start + last > len(memory):
        raise ValueError(f"it ends after {len(memory):,} bytes and should have {start + last:,}")
    dtype = np.dtype(DTYPES[entry["dtype"]])
    values = np.frombuffer(memory, dtype, (last - first) // dtype.itemsize, start + first)
    return values.reshape(entry["shape"])


def write_rows(path: Path, name: str, width: int, parts: Iterable[NDArray[np.float32]]) -> int:
    """Write one array of float32 part by part, so that it never lies in memory, and return its number of rows.

    Args:
        path: A file; it is replaced at the end, so that a process that maps the old one keeps it.
        name: Name of the array in the file.
        width: Numbers of a row.
        parts: Pieces of the array [row, width].
    """
    n_rows = 0
    new_path = path.with_name(path.name + NEW)
    with new_path.open("wb") as file:
        file.write(bytes(HEADER_BYTES))
        for part in parts:
            file.write(np.ascontiguousarray(part, "<f4").data)
            n_rows += len(part)
        entry = {"dtype": "F32", "shape": [n_rows, width], "data_offsets": [0, 4 * n_rows * width]}
        header = json.dumps({name: entry}).encode().ljust(HEADER_BYTES - 8)
        file.seek(0)
        file.write(len(header).to_bytes(8, "little") + header)
    new_path.replace(path)
    return n_rows


def digest_of_sums(folder: Path, sums: str, names: Iterable[str]) -> str:
    """Return the digest that `read_verified` gives, by the sums that the folder lists and without reading the files."""
    try:
        lines = (line.partition("  ") for line in (folder / sums).read_text(encoding="utf-8").splitlines())
        digests = {name: digest for digest, _, name in lines}
        content = b"".join(bytes.fromhex(digests[name]) for name in names)
    except (OSError, ValueError, KeyError) as cause:
        raise CheckpointError(
            f"{folder / sums} does not list the files of a table ({cause}): convert it again"
        ) from cause
    return "sha256:" + hashlib.sha256(content).hexdigest()
