"""Results as JSON lines, appended as soon as they are there: a run that is stopped goes on where it was."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "results.jsonl"
ENOUGH = {"1000": "10000"}  # a method that has collapsed at the one is not run at the other
COLLAPSED = 0.2  # reliability below which it has
PACE, UNKNOWN_S = {"1000": 3.0, "10000": 8.0}, 60.0  # how much longer than the size before, for the estimate

Key = tuple[str, str, int]  # method, number of edits or `paper`, seed
Results = Mapping[Key, Mapping[str, Any]]


def append(path: Path, result: Mapping[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(result) + "\n")


def latest(path: Path) -> dict[Key, dict[str, Any]]:
    """The last result of each cell."""
    return {(one["method"], one["n"], one["seed"]): one for one in _lines(path)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """But for a last one that was cut off."""
    if path.is_file():
        with path.open() as file:
            yield from (json.loads(line) for line in file if line.endswith("\n"))


def has_collapsed(known: Results, method: str, n: str) -> bool:
    """Before so many edits."""
    smaller = [key for key in known if key[0] == method and ENOUGH.get(key[1]) == n]
    counts = [known[key]["counts"]["reliability"] for key in smaller]
    return bool(counts) and sum(right for right, _ in counts) < COLLAPSED * sum(asked for _, asked in counts)


def seconds(known: Results, method: str, n: str) -> float:
    """What a cell is likely to take: as long as with another seed, else longer than the size before."""
    sizes = ["1", "10", "100", "1000", "10000"]
    for place in range(sizes.index(n), -1, -1):
        found = [
            one["seconds"] for (name, size, _), one in known.items() if (name, size) == (method, sizes[place])
        ]
        if found:
            grown = 1.0
            for size in sizes[place + 1 : sizes.index(n) + 1]:
                grown *= PACE.get(size, 1.0)
            return grown * sum(found) / len(found)
    return UNKNOWN_S * PACE.get(n, 1.0)
