"""The authors' entity files as a table: text in, mapped arrays out, in memory that does not grow with the vectors.

entity2vec.vec    numbers between tabs, a vector a line; line i is the entity of id i
entity2id.txt     the number of entities, then a name, a tab and an id a line

Zhang et al. (arXiv:1905.07129), section 4.1: TransE (Bordes et al., 2013) on Wikidata, 100 numbers a vector. The table
begins with a row of zeros for a token without an entity, so that row(id) = id + 1.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.checkpoint import SUMS, CheckpointError
from models.thu_ernie.entities.mapped import write_rows
from models.thu_ernie.entities.names import write_names

ROWS, NAMES = "rows.safetensors", "names.safetensors"
FILES = (ROWS, NAMES)
LINES = 4_096  # Vectors that are parsed together


def convert(vectors: Path, ids: Path, target: Path) -> int:
    """Write the table of the authors' two files, and return how many vectors it has.

    Args:
        vectors: `entity2vec.vec`.
        ids: `entity2id.txt`.
        target: A folder; files of an earlier table in it are replaced.

    Raises:
        CheckpointError: A line is no vector or no id, or a number is not finite; the sentence names the line.
    """
    with vectors.open("rb") as file:
        width = len(file.readline().split())
    return write_table(target, width, read_vectors(vectors, width), read_ids(ids))


def write_table(
    target: Path, width: int, vectors: Iterable[NDArray[np.float32]], ids: Iterable[tuple[str, int]]
) -> int:
    """Write the files of a table, and return how many vectors it has.

    Args:
        target: A folder; files of an earlier table in it are replaced.
        width: Numbers of a vector.
        vectors: Pieces of the table [row, width], in the order of the ids.
        ids: Names of entities and their ids; a vector may be without a name.
    """
    target.mkdir(parents=True, exist_ok=True)
    zero_row = np.zeros((1, width), np.float32)
    n_rows = write_rows(target / ROWS, "rows", width, chain([zero_row], vectors))
    write_names(target / NAMES, ((name, id + 1) for name, id in ids), n_rows)
    lines = [f"{_sum_of(target / name)}  {name}\n" for name in FILES]
    (target / SUMS).write_text("".join(lines), encoding="utf-8")
    return n_rows - 1


def _sum_of(path: Path) -> str:
    """Return the SHA-256 of a file that is too large to be read whole."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_vectors(path: Path, width: int) -> Iterator[NDArray[np.float32]]:
    """Yield vectors [row, width], at most LINES at once."""
    number = 1
    with path.open("rb") as file:
        while lines := [line.strip() for line in islice(file, LINES)]:
            for place, line in enumerate(lines):
                if line.count(b"\t") != width - 1:
                    raise CheckpointError(
                        f"{path}, line {number + place}: expected {width} numbers between tabs, found "
                        f"{len(line.split())}"
                    )
            yield _parse(lines, path, number)
            number += len(lines)


def _parse(lines: list[bytes], path: Path, number: int) -> NDArray[np.float32]:
    """Parse lines that have the right number of tabs; `number` is that of the first."""
    try:
        vectors = np.loadtxt(lines, np.float32, comments=None, delimiter="\t", ndmin=2)
    except ValueError as cause:
        raise CheckpointError(f"{path}, rows counted from line {number}: {cause}") from cause
    infinite = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(infinite):
        raise CheckpointError(f"{path}, line {number + int(infinite[0])}: a number is not finite in 32 bits")
    return vectors


def read_ids(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and the id of each entity; the first line counts them."""
    n_entities = 0
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        count = next(lines, "").strip()
        for number, line in enumerate(lines, 2):
            name, _, id = line.rstrip("\r\n").rpartition("\t")
            if not name.isprintable() or not name or not id.strip().isdecimal():
                raise CheckpointError(f"{path}, line {number}: expected a name, a tab and an id")
            yield name, int(id)
            n_entities += 1
    if count != str(n_entities):
        raise CheckpointError(f"{path}: its first line says {count!r} entities, and {n_entities} follow")
