"""Questions with a figure in which a sign or the order of the characters decides: dates, amounts, sums, codes, symbols.

`figures.jsonl` has a sort of figure a line: `asked`, its questions in several wordings with `{v}`, and `figures`: the
ways to write a figure, and those to write another one that is easily taken for it. Whole sorts are kept for the test.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "figures.jsonl"
SLOT = "{v}"
TEST = 0.33  # share of the sorts


@dataclass(frozen=True)
class Sort:
    """A sort of figure."""

    label: str
    questions: tuple[tuple[str, ...], ...]  # questions; each in several wordings
    # Ways to write a figure, and to write one that is taken for it
    figures: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def read_figures(path: Path = FILE) -> list[Sort]:
    """Read all sorts."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Sort(
            row["sort"],
            tuple(map(tuple, row["asked"])),
            tuple((tuple(ways), tuple(other_ways)) for ways, other_ways in row["figures"]),
        )
        for row in rows
    ]


def split_figures(seed: int, sorts: Sequence[Sort] | None = None) -> tuple[list[Sort], list[Sort]]:
    """Deal the sorts to training and test."""
    order = list(sorts or read_figures())
    random.Random(seed).shuffle(order)
    n_test = round(TEST * len(order))
    return order[n_test:], order[:n_test]
