"""The settings of the peers: a written grid of each, what each setting came to, and the best.

`python -m tests.bench.editing_methods.tune` measures the grids on the tuning facts and appends to grids.jsonl.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.bench.editing_methods.methods.alphaedit import AlphaEdit
from tests.bench.editing_methods.methods.codebook import Grace
from tests.bench.editing_methods.methods.decoder_slots import DecoderSlots
from tests.bench.editing_methods.methods.fine_tuning import FineTuning
from tests.bench.editing_methods.methods.least_squares import LeastSquares
from tests.bench.editing_methods.methods.memit import Memit
from tests.bench.editing_methods.methods.method import Method
from tests.bench.editing_methods.methods.nearest import CosineCache, Lookup, Serac
from tests.bench.editing_methods.methods.retraining import Retraining

FILE = Path(__file__).parent / "grids.jsonl"
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """The values of each setting that are tried together.

    Attributes:
        make: Makes the method.
        axes: Values of each setting, ascending.
    """

    make: Callable[..., Any]
    axes: Mapping[str, Sequence[float]]

    def settings(self) -> Iterator[dict[str, float]]:
        """Yield all combinations."""
        for values in product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))


LOOKUP_GRIDS = {
    "cosine cache": Grid(CosineCache, {"threshold": (0.6, 0.7, 0.725, 0.75, 0.775, 0.8, 0.85, 0.9, 0.95)}),
    "serac": Grid(Serac, {"threshold": (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9)}),
}
PEER_GRIDS = {
    "memit": Grid(partial(Memit, "memit", remember=False), {"weight": (10.0, 30.0, 100.0, 300.0, 1_000.0)}),
    "previous keys": Grid(
        partial(Memit, "previous keys", remember=True), {"weight": (1.0, 3.0, 10.0, 30.0, 100.0)}
    ),
    "alphaedit": Grid(AlphaEdit, {"theta": (0.1, 0.5, 2.0), "ridge": (0.03, 0.3, 3.0)}),
    "least squares": Grid(LeastSquares, {"lam": (3.0, 10.0, 30.0, 100.0, 300.0)}),
    "decoder slots": Grid(DecoderSlots, {"tau_min": (0.7, 0.8, 0.9), "q": (0.05, 0.1, 0.2)}),
    "grace": Grid(Grace, {"radius": (10.0, 12.0, 14.0, 17.0, 20.0, 24.0)}),
    "fine-tuning": Grid(FineTuning, {"rate": (3e-4, 1e-3, 3e-3), "steps": (5, 20, 60)}),
    "retraining": Grid(Retraining, {"rate": (1e-3, 3e-3, 1e-2), "epochs": (15, 45, 90)}),
}
GRIDS = {**LOOKUP_GRIDS, **PEER_GRIDS}


def read_results(path: Path = FILE) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last result of each setting, by method and settings."""
    lines = path.read_text().splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {(row["method"], key(row["settings"])): row for row in rows}


def key(settings: Settings) -> str:
    """Return settings as a key."""
    return json.dumps({name: float(value) for name, value in sorted(settings.items())})


def find_rows(name: str, path: Path = FILE) -> list[dict[str, Any]]:
    """Return the last results of the settings of a method's grid, in its order."""
    results = read_results(path)
    keys = [(name, key(settings)) for settings in GRIDS[name].settings()]
    return [results[place] for place in keys if place in results]


def find_best(name: str, path: Path = FILE) -> dict[str, float]:
    """Return the best settings that were measured, of equal ones the middle; without results the grid's middle."""
    rows = find_rows(name, path)
    if not rows:
        return {axis: values[len(values) // 2] for axis, values in GRIDS[name].axes.items()}
    score = max(row["score"] for row in rows)
    best: list[dict[str, float]] = [row["settings"] for row in rows if row["score"] == score]
    return best[len(best) // 2]


def find_edges(name: str, path: Path = FILE) -> list[str]:
    """Return the axes whose best value is the smallest or the largest that was measured."""
    best, rows = find_best(name, path), find_rows(name, path)
    values = {axis: [row["settings"][axis] for row in rows] for axis in best}
    return [axis for axis in best if rows and best[axis] in (min(values[axis]), max(values[axis]))]


def make_lookups() -> tuple[Lookup, ...]:
    """Return the look-ups at their best settings."""
    return tuple(grid.make(**find_best(name)) for name, grid in LOOKUP_GRIDS.items())


def make_peers() -> tuple[Method, ...]:
    """Return the peers at their best settings."""
    return tuple(grid.make(**find_best(name)) for name, grid in PEER_GRIDS.items())
