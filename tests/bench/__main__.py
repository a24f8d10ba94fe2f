"""`make bench`: what questions, edits and imports cost; every figure is a ratio within one run, or has a unit.

Without a section all are measured, and BENCHMARKS.md is written.
"""

import argparse
import os
import sys

import torch

from tests.bench import editing, graph, inprocess, mutants, order, overhttp, start
from tests.bench.memory import rows as memory_rows
from tests.bench.page import write
from tests.bench.table import show

SECTIONS = {
    "inprocess": inprocess.rows,
    "http": overhttp.rows,
    "editing": editing.rows,
    "many": editing.many_rows,
    "graph": graph.rows,
    "order": order.rows,
    "start": start.rows,
    "memory": memory_rows,
}


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
        help=f"{', '.join(SECTIONS)}; without any all, and BENCHMARKS.md is written",
    )
    sections = parser.parse_args().sections
    torch.set_num_threads(os.cpu_count() or 1)
    rows = []
    for name in sections or SECTIONS:
        rows += SECTIONS[name]()
        show(rows)
    if not sections:
        write(rows)


if __name__ == "__main__":
    main()
