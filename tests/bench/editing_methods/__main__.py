"""`make bench-editing`: fills the scoreboard cell by cell, smallest sizes first, and writes its table and plot."""

import argparse
from pathlib import Path

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import plot, report, results
from tests.bench.editing_methods.cells import METHODS, PRODUCT, WORKLOADS, Cells
from tests.bench.editing_methods.draw import FULL, KINDS, SAMPLES
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.results import PAPER
from tests.bench.editing_methods.run import is_current, jobs, run
from tests.bench.editing_methods.sets import READERS, SETS
from tests.bench.editing_methods.settings import COLUMNS

FOLDER = results.FILE.parent  # results of another place do not speak for the checkpoint
SIZES, SET_SIZES, SEEDS = (PAPER, "1", "10", "100", "1000", "10000"), ("75", "450"), (1, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument(
        "--set-sizes", nargs="+", default=SET_SIZES, help="numbers of edits of the editing sets"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--sample", choices=SAMPLES, default="full", help="how much a cell scores")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the editing sets")
    parser.add_argument(
        "--results", type=Path, default=results.FILE, help="where cells are kept, and looked for"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only-report", action="store_true", help="measure nothing")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    requested_jobs = list_jobs(args)
    reader = Reader.load()
    cells = Cells(Model(reader), Pack.load(), SAMPLES[args.sample], args.sets)
    run(cells, [] if args.only_report else requested_jobs, args.results)
    write_report(cells, reader, args.results)


def write_report(cells: Cells, reader: Reader, path: Path) -> None:
    """Write table and plot beside the results, and the product's locality when all its sizes are known in full."""
    last_results, folder = results.latest(path), path.parent
    current = {key: cell for key, cell in last_results.items() if is_current(cells, cell)}
    (folder / "RESULTS.md").write_text(report.table(last_results, current, COLUMNS, WORKLOADS))
    full = {key: cell for key, cell in current.items() if cell["sample"] == FULL.name}
    locality = report.locality(full, (PRODUCT,), reader.digest_with_judge)
    if {int(size) for size in SIZES if size != PAPER} <= {*locality.edits}:
        locality.save(reader.folder if folder == FOLDER else folder)
    plot.draw(
        folder / "plot.svg",
        report.lines(report.choose_shown(last_results, current), COLUMNS),
        ("reliability", "generalisation", *KINDS[:2]),
    )


def list_jobs(args: argparse.Namespace) -> list[results.Key]:
    """Return the cells that the arguments ask for; the editing sets have sizes of their own."""
    pack_workloads = [workload for workload in args.workloads if workload not in READERS]
    sets = [workload for workload in args.workloads if workload in READERS]
    return [
        *(jobs(args.methods, pack_workloads, args.sizes, args.seeds) if pack_workloads else ()),
        *jobs(args.methods, sets, args.set_sizes, args.seeds[:1]),
    ]


if __name__ == "__main__":
    main()
