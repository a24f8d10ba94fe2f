"""The jobs that are still to be scored, and the loop that scores them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.editing_methods import results
from tests.bench.editing_methods.cells import FACTS, Cell, Cells, settings
from tests.bench.editing_methods.draw import FULL
from tests.bench.editing_methods.results import PAPER, Key


def jobs(
    methods: Sequence[str], workloads: Sequence[str], sizes: Sequence[str], seeds: Sequence[int]
) -> Iterator[Key]:
    """Yield the cells that are asked for, the paper's protocol once for each seed."""
    for size in sizes:
        for seed in seeds:
            if size == PAPER:
                yield PAPER, FACTS, size, seed
            else:
                yield from ((name, workload, size, seed) for workload in workloads for name in methods)


def remaining_jobs(cells: Cells, requested_jobs: Sequence[Key], path: Path) -> list[Key]:
    """Leave out what is known of the present code, weights and settings, and what has collapsed.

    A cell of the full sample stands for one of the small sample, not the other way round.
    """
    last_results = results.latest(path)
    current = {key: cell for key, cell in last_results.items() if is_current(cells, cell)}
    done = {key: cell for key, cell in current.items() if cell["sample"] in (cells.sample.name, FULL.name)}
    return [
        job
        for job in requested_jobs
        if not _is_done(last_results, done, job) and not results.has_collapsed(current, *job[:3])
    ]


def _is_done(last_results: results.Results, done: results.Results, job: Key) -> bool:
    keys = [key for key in last_results if key[2:] == job[2:]] if job[0] == PAPER else [job]
    return bool(keys) and all(key in done for key in keys)


def is_current(cells: Cells, result: Mapping[str, Any]) -> bool:
    """Return whether a result was made by the present code, weights and settings."""
    name = result["method"]
    return bool(result["rests_on"] == cells.rests_on(name) and result["settings"] == settings(name))


def run(cells: Cells, requested_jobs: Sequence[Key], path: Path) -> None:
    """Score what remains, and append each cell as soon as it is there."""
    while remaining := remaining_jobs(cells, requested_jobs, path):
        last_results = results.latest(path)
        minutes = (
            sum(results.seconds(last_results, name, size) for name, _, size, _ in remaining if name != PAPER)
            / 60
        )
        print(f"{len(remaining)} cells left, about {minutes:.0f} minutes", flush=True)
        for cell in _score_job(cells, remaining[0]):
            results.append(path, cell)
            print(summarise(cell), flush=True)


def _score_job(cells: Cells, job: Key) -> Iterator[Cell]:
    name, workload, size, seed = job
    if name == PAPER:
        yield from list(cells.paper(seed))
    else:
        yield cells.score(name, workload, int(size), seed)


def summarise(cell: Cell) -> str:
    """Describe a cell in one line."""
    shares = ", ".join(
        f"{name} {100 * right / n_asked:.1f}" for name, (right, n_asked) in cell["counts"].items() if n_asked
    )
    about = f"{cell['method']}, {cell['workload']}, n {cell['n']}, seed {cell['seed']}"
    return f"{cell['at']} {about}, {cell.get('seconds', 0):.0f} s: {shares}"
