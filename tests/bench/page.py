"""BENCHMARKS.md: what was measured by section, and the quality of the systems as their cards have it."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from more_itertools import flatten, map_reduce

from tests.bench.quality import lines
from tests.bench.table import Row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "BENCHMARKS.md"
PART = "of it: "  # begins the name of a row that only the console shows
HEADER = "|what|figure|bar|met|note|section|measured|"
READING = """\
## How to read it

Ratios are medians of turns within one run. The peers are `transformers` on the same weights and batches, and LitServe
over HTTP. `python -m tests.bench SECTION` measures a part again, `tests.bench.against REVISION` beside an earlier
commit.
"""

ON_A_GPU = """\
On one NVIDIA H200 (2026-11-26) the six systems answer all questions as they do on the CPU, in float32 and bfloat16, and
no score moves by more than 4e-5 in float32 ([each](models/checkpoints/README.md)).
"""


def write(rows_by_section: Mapping[str, Sequence[Row]]) -> None:
    """Write the page with the rows of the sections that were measured; those of other sections stay as they are."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    stamp = f"{commit}, {time.strftime('%Y-%m-%d')}, {describe_vectors()}"
    other_lines = [
        line
        for line in PAGE.read_text("utf-8").splitlines()
        if find_section(line) not in (None, *rows_by_section)
    ]
    lines_by_section = map_reduce(other_lines, find_section)
    for section, rows in rows_by_section.items():
        lines_by_section[section] = [
            f"|{r.name}|{r.figure:.2f}|{r.bar}|{r.verdict}|{r.note}|`{section}`|{stamp}|"
            for r in rows
            if not r.name.startswith(PART)
        ]
    page = [
        "# What was measured\n",
        "By `make bench` and `make bench-all`, each row at the commit, on the day and with the vectors that it names,",
        "on two cores that others share; no GPU.\n",
        HEADER,
        "|---" * (HEADER.count("|") - 1) + "|",
        *flatten(lines_by_section.values()),
        f"\n{READING}",
        "## Quality\n",
        "Every checkpoint, by its training's exam; the card says how.\n",
        *lines(),
        f"\n{ON_A_GPU}",
    ]
    PAGE.write_text("\n".join(page), "utf-8")


def find_section(line: str) -> str | None:
    """Return the section of a line of the table of measurements; None for any other line."""
    cells = line.split("|")
    is_row = len(cells) == HEADER.count("|") + 1 and line != HEADER and not line.startswith("|---")
    return cells[-3].strip("`") if is_row else None


def describe_vectors() -> str:
    """Return the widest vectors of the processor, by which times differ most."""
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").is_file() else ""
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
