"""Names of things that the pack `world` does not hold, each with a relation that it really has.

Gates learn from them how names differ, without any fact of the pack. Tests use other names: a name is in one half only,
whatever its relations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from models.packs.files import check, rows

NAMES = Path(__file__).parent / "names.tsv"
COLUMNS = ("name", "relation_id", "half")
HALVES = ("train", "test")

Half = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    relation_id: str
    half: Half


def read_names(half: Half) -> list[Name]:
    """Read the names of one half, in the order of the file.

    Raises:
        PackError: The file is malformed.
    """
    names = []
    for where, (name, relation, name_half) in rows(NAMES, COLUMNS):
        check(bool(name and relation), where, "name and relation must not be empty: fill them in")
        check(name_half in HALVES, where, f"the half is '{name_half}': write train or test")
        names.append(Name(name, relation, cast(Half, name_half)))
    return [name for name in names if name.half == half]


def write_rows(path: Path, columns: tuple[str, ...], table: Iterable[tuple[str, ...]]) -> None:
    """Write a table as `rows` reads it."""
    lines = ["\t".join(columns), *("\t".join(row) for row in table)]
    path.write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
