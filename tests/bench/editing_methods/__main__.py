"""`make bench-editing`: fills the scoreboard cell by cell, smallest sizes first, and writes its table and plot."""

import argparse
from pathlib import Path

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import plot, report, results
from tests.bench.editing_methods.cells import METHODS, PRODUCTS, Cells
from tests.bench.editing_methods.draw import KINDS
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.results import PAPER
from tests.bench.editing_methods.run import jobs, run

FOLDER = results.FILE.parent  # results of other settings are not mixed with the checkpoint's
SIZES, SEEDS = (PAPER, "1", "10", "100", "1000", "10000"), (1, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument(
        "--results", type=Path, default=results.FILE, help="where cells are kept, and looked for"
    )
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    requested_jobs = list(jobs(args.methods, args.sizes, args.seeds))
    reader = Reader.load()
    run(Cells(Model(reader), Pack.load()), requested_jobs, args.results)
    last_results, folder = results.latest(args.results), args.results.parent
    (folder / "RESULTS.md").write_text(report.table(last_results, METHODS))
    locality = report.locality(last_results, PRODUCTS, reader.digest_with_judge)
    locality.save(reader.folder if folder == FOLDER else folder)
    plot.draw(
        folder / "plot.svg",
        report.lines(last_results, METHODS),
        ("reliability", "generalisation", *KINDS[:2]),
    )


if __name__ == "__main__":
    main()
