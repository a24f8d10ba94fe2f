"""BENCHMARKS.md: the table of one whole run, and the quality of the systems as their cards have it."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from tests.bench.quality import lines
from tests.bench.table import Row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "BENCHMARKS.md"
READING = """\
## How to read it

Service, peer and callers share the cores of one machine with other work, so times are high; ratios are taken in turn
within one run, and are medians. They carry over, but for those of arithmetic to everything else: at half the speed the
same multiplications take twice as long on both sides, and there is less left to be saved. The peers are `transformers`
on the same weights and batches, and LitServe over HTTP. `python -m tests.bench SECTION` measures a part again, and
`python -m tests.bench.against REVISION` compares with an earlier commit.
"""


def write(rows: Sequence[Row]) -> None:
    """Write the page."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    table = [f"| {r.name} | {r.figure:.2f} | {r.bar} | {r.verdict} | {r.note} |" for r in rows]
    page = [
        "# What was measured\n",
        f"By `make bench` at commit {commit}, {time.strftime('%Y-%m-%d')}: {_describe_machine()}.\n",
        "| what | figure | bar | met | note |",
        "|---|---|---|---|---|",
        *table,
        f"\n{READING}",
        "## Quality\n",
        "Every checkpoint, by its training's exam; the card says how it was measured, and on what.\n",
        *lines(),
    ]
    PAGE.write_text("\n".join(page) + "\n", "utf-8")


def _describe_machine() -> str:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").is_file() else ""
    names = {line.partition(": ")[2] for line in flags.splitlines() if line.startswith("model name")}
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    processor = ", ".join(sorted(names)) or platform.machine()
    return f"{os.cpu_count()} cores of {processor} with {vectors}, Python {platform.python_version()}, {gpu}"
