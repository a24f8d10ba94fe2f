"""The jobs that are still to be scored, and the loop that scores them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.editing_methods import results
from tests.bench.editing_methods.cells import Cell, Cells, settings
from tests.bench.editing_methods.results import PAPER

Job = tuple[str, str, int]  # method, size, seed


def jobs(methods: Sequence[str], sizes: Sequence[str], seeds: Sequence[int]) -> Iterator[Job]:
    for size in sizes:
        for seed in seeds:
            yield from ((name, size, seed) for name in ((PAPER,) if size == PAPER else methods))


def remaining_jobs(cells: Cells, requested_jobs: Sequence[Job], path: Path) -> list[Job]:
    """Return the jobs without known results for this checkpoint and these settings, and without collapsed methods."""
    last_results = results.latest(path)
    return [
        job
        for job in requested_jobs
        if not _is_done(cells, last_results, job) and not results.has_collapsed(last_results, *job[:2])
    ]


def _is_done(cells: Cells, last_results: results.Results, job: Job) -> bool:
    keys = [key for key in last_results if key[1:] == job[1:]] if job[0] == PAPER else [job]
    return bool(keys) and all(
        key in last_results and _is_current(cells, key[0], last_results[key]) for key in keys
    )


def _is_current(cells: Cells, name: str, result: Mapping[str, Any]) -> bool:
    return bool(result["rests_on"] == cells.rests_on(name) and result["settings"] == settings(name))


def run(cells: Cells, requested_jobs: Sequence[Job], path: Path) -> None:
    while remaining := remaining_jobs(cells, requested_jobs, path):
        last_results = results.latest(path)
        minutes = (
            sum(results.seconds(last_results, name, size) for name, size, _ in remaining if name != PAPER)
            / 60
        )
        print(f"{len(remaining)} cells left, about {minutes:.0f} minutes", flush=True)
        for cell in _score_job(cells, remaining[0]):
            results.append(path, cell)
            print(summarise(cell), flush=True)


def _score_job(cells: Cells, job: Job) -> Iterator[Cell]:
    name, size, seed = job
    if name == PAPER:
        yield from list(cells.paper(seed))
    else:
        yield cells.score(name, int(size), seed)


def summarise(cell: Cell) -> str:
    shares = ", ".join(
        f"{name} {100 * right / n_asked:.1f}" for name, (right, n_asked) in cell["counts"].items() if n_asked
    )
    return f"{cell['at']} {cell['method']}, n {cell['n']}, seed {cell['seed']}: {shares}"
