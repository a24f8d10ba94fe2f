"""`make bench`: one table of the service's costs; every figure is a ratio within one run, or has a unit."""

import argparse
import os
import sys
from pathlib import Path

import torch

from tests.bench import (
    curators,
    editing,
    graph,
    growth,
    inprocess,
    many_edits,
    mutants,
    order,
    overhttp,
    pages,
    start,
    untaught,
)
from tests.bench.memory import rows as memory_rows
from tests.bench.table import machine, show, write

SECTIONS = {
    "inprocess": inprocess.rows,
    "http": overhttp.rows,
    "editing": editing.rows,
    "many": many_edits.rows,
    "growth": growth.rows,
    "graph": graph.rows,
    "curators": curators.rows,
    "pages": pages.rows,
    "untaught": untaught.rows,
    "order": order.rows,
    "start": start.rows,
    "memory": memory_rows,
}
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    if sys.argv[1:2] == ["mutants"]:
        mutants.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="Measure the service. Takes about ten minutes.")
    parser.add_argument(
        "sections",
        nargs="*",
        choices=[*SECTIONS, []],
        metavar="SECTION",
        help=f"{', '.join(SECTIONS)}; without any all, and RESULTS.md is written",
    )
    sections = parser.parse_args().sections
    torch.set_num_threads(os.cpu_count() or 1)
    rows = []
    for name in sections or SECTIONS:
        rows += SECTIONS[name]()
        show(rows)
    if not sections:
        write(rows, RESULTS, machine(os.cpu_count() or 1))


if __name__ == "__main__":
    main()
