"""`make bench-editing`: fills the scoreboard cell by cell, smallest sizes first, and writes its table and plot."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import plot, report, results
from tests.bench.editing_methods.cells import METHODS, Cell, Cells, settings
from tests.bench.editing_methods.draw import KINDS
from tests.bench.editing_methods.said import Model

PAPER = "paper"
SIZES, SEEDS = (PAPER, "1", "10", "100", "1000", "10000"), (1, 2, 3)
Job = tuple[
    str, str, int
]  # method, size, seed; PAPER stands for all of the paper's protocol, as method and as size


def jobs(methods: Sequence[str], sizes: Sequence[str], seeds: Sequence[int]) -> Iterator[Job]:
    for size in sizes:
        for seed in seeds:
            yield from ((name, size, seed) for name in ((PAPER,) if size == PAPER else methods))


def left(cells: Cells, wanted: Sequence[Job], path: Path) -> list[Job]:
    """Without what is known of this checkpoint with these settings, and without what has collapsed."""
    known = results.latest(path)
    return [
        job
        for job in wanted
        if not _is_done(cells, known, job) and not results.has_collapsed(known, *job[:2])
    ]


def _is_done(cells: Cells, known: results.Results, job: Job) -> bool:
    keys = [key for key in known if key[1:] == job[1:]] if job[0] == PAPER else [job]
    return bool(keys) and all(key in known and _is_current(cells, key[0], known[key]) for key in keys)


def _is_current(cells: Cells, name: str, result: Mapping[str, Any]) -> bool:
    return bool(result["rests_on"] == cells.rests_on(name) and result["settings"] == settings(name))


def run(cells: Cells, wanted: Sequence[Job], path: Path) -> None:
    while todo := left(cells, wanted, path):
        known = results.latest(path)
        minutes = sum(results.seconds(known, name, size) for name, size, _ in todo if name != PAPER) / 60
        print(f"{len(todo)} cells left, about {minutes:.0f} minutes", flush=True)
        for cell in _made(cells, todo[0]):
            results.append(path, cell)
            print(told(cell), flush=True)


def _made(cells: Cells, job: Job) -> Iterator[Cell]:
    name, size, seed = job
    if name == PAPER:
        yield from list(cells.paper(seed))
    else:
        yield cells.score(name, int(size), seed)


def told(cell: Cell) -> str:
    shares = ", ".join(
        f"{name} {100 * right / asked:.1f}" for name, (right, asked) in cell["counts"].items() if asked
    )
    return f"{cell['at']} {cell['method']}, n {cell['n']}, seed {cell['seed']}: {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument(
        "--results", type=Path, default=results.FILE, help="where cells are kept, and looked for"
    )
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    wanted = list(jobs(chosen.methods, chosen.sizes, chosen.seeds))
    run(Cells(Model(Reader.load()), Pack.load()), wanted, chosen.results)
    known, folder = results.latest(chosen.results), chosen.results.parent
    (folder / "RESULTS.md").write_text(report.table(known, METHODS))
    plot.draw(folder / "plot.svg", report.lines(known, METHODS), ("reliability", "generalisation", *KINDS[:2]))


if __name__ == "__main__":
    main()
