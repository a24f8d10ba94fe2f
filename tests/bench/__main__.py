"""`make bench`: what questions, edits and imports cost; every figure is a ratio within one run, or has a unit.

`make bench` measures SHORT, `make bench-all` all sections; both write what they measured into BENCHMARKS.md.
"""

import argparse
import os
import sys

import torch

from tests.bench import editing, graph, imported, inprocess, mutants, order, overhttp, start, upstream
from tests.bench.memory import rows as memory_rows
from tests.bench.page import write
from tests.bench.table import show

SECTIONS = {
    "inprocess": inprocess.rows,
    "http": overhttp.rows,
    "editing": editing.rows,
    "reports": editing.report_rows,
    "many": editing.many_rows,
    "graph": graph.rows,
    "imported": imported.rows,
    "order": order.rows,
    "upstream": upstream.rows,
    "start": start.rows,
    "memory": memory_rows,
}
SHORT = ("inprocess", "http", "editing", "reports", "memory")


def main() -> None:
    if sys.argv[1:2] == ["mutants"]:
        mutants.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="Measure the service, and write BENCHMARKS.md.")
    parser.add_argument(
        "sections",
        nargs="*",
        choices=[*SECTIONS, "all", []],
        metavar="SECTION",
        help=f"{', '.join(SECTIONS)} or all; without any {', '.join(SHORT)}",
    )
    sections = parser.parse_args().sections or SHORT
    torch.set_num_threads(os.cpu_count() or 1)
    rows_by_section = {}
    for name in SECTIONS if "all" in sections else sections:
        rows_by_section[name] = list(SECTIONS[name]())
        show(rows_by_section[name])
        write(rows_by_section)


if __name__ == "__main__":
    main()
