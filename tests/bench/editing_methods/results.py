"""Results as JSON lines, each appended at once, so that a run that is stopped goes on where it was."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "results.jsonl"
ENOUGH = {"1000": "10000"}  # a method that has collapsed at the first size is not run at the second
COLLAPSE_SHARE = 0.2  # reliability below which a method has collapsed
UNKNOWN_S = 60.0  # of a cell with one edit, for the estimate
PAPER = "paper"  # name of the paper's protocol, in place of a method and of a number of edits

Key = tuple[str, str, str, int]  # method, workload, number of edits or `paper`, seed
Results = Mapping[Key, Mapping[str, Any]]


def append(path: Path, result: Mapping[str, Any]) -> None:
    with path.open("a+b") as file:
        file.seek(max(0, file.seek(0, SEEK_END) - 1))
        apart = b"" if file.read(1) in (b"", b"\n") else b"\n"
        file.write(apart + json.dumps(result).encode() + b"\n")


def latest(path: Path) -> dict[Key, dict[str, Any]]:
    """The last result of each cell."""
    return {
        (result["method"], result["workload"], result["n"], result["seed"]): result for result in _lines(path)
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines without one that was cut off."""
    for line in path.read_text().splitlines() if path.is_file() else ():
        with suppress(json.JSONDecodeError):
            yield json.loads(line)


def has_collapsed(results: Results, method: str, workload: str, n: str) -> bool:
    """Return whether the method had collapsed before so many edits."""
    smaller = [key for key in results if key[:2] == (method, workload) and ENOUGH.get(key[2]) == n]
    counts = [results[key]["counts"]["reliability"] for key in smaller]
    return bool(counts) and sum(right for right, _ in counts) < COLLAPSE_SHARE * sum(
        n_asked for _, n_asked in counts
    )


def seconds(results: Results, method: str, n: str) -> float:
    """Estimate the time of a cell, from the method's largest measured cell that is no larger."""
    sizes_and_seconds = [
        (int(size), result["seconds"])
        for (name, _, size, _), result in results.items()
        if name == method and size != PAPER and "seconds" in result
    ]
    size, size_s = max([pair for pair in sizes_and_seconds if pair[0] <= int(n)], default=(1, UNKNOWN_S))
    return float(size_s * _work(int(n)) / _work(size))


def _work(n: int) -> int:
    """Return the work of a cell in edits; its other questions cost as much as a fixed number of edits."""
    return 5_000 + max(500, n)
