"""What the entity table of THU-ERNIE costs at five million entities: opening it, its memory, and a look-up.

`python -m tests.bench.entity_table FOLDER` opens a table in a fresh process and prints the figures as JSON.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import torch
from numpy.typing import NDArray

from models.thu_ernie.entities.files import write_table
from models.thu_ernie.entities.memory import EntityMemory
from models.thu_ernie.entities.table import EntityTable
from tests.bench.table import Row
from tests.bench.timing import percentile

ENTITIES, SIZE = 5_000_000, 100
PART = 50_000  # rows that are written together
MENTIONS, LOOK_UPS = 64, 1_000


def rows() -> Iterator[Row]:
    """Write a table under the temporary folder, measure it from a fresh process, and delete it."""
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        start = time.perf_counter()
        write_table(Path(name), SIZE, _vectors(), ((f"Q{id}", id) for id in range(ENTITIES)))
        written_s = time.perf_counter() - start
        command = [sys.executable, "-m", "tests.bench.entity_table", name]
        process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    figures = json.loads(process.stdout)
    note = f"{ENTITIES:,} vectors of {SIZE}; {figures['peak_mb']:.0f} MB during a look-up"
    yield Row("entity table, writing vectors and names", written_s, "", f"s; {ENTITIES:,} vectors of {SIZE}")
    yield Row("entity table, opening", figures["open_s"], "<= 2", "s")
    yield Row(
        "entity table, resident memory after look-ups, more than before",
        figures["more_mb"],
        "<= 200",
        f"MB; {note}",
    )
    for kind in ("random", "warm"):
        bar = "<= 1" if kind == "warm" else ""
        note = f"ms; p50 {figures[f'{kind}_p50_ms']:.3f}, of {LOOK_UPS:,}"
        yield Row(
            f"entity table, vectors of {MENTIONS} entities, {kind}, p99", figures[f"{kind}_p99_ms"], bar, note
        )
    yield Row(
        f"entity table, rows of {MENTIONS} names, p99",
        figures["names_p99_ms"],
        "",
        "ms; by bisection on the disk",
    )


def _vectors() -> Iterator[NDArray[np.float32]]:
    random = np.random.default_rng(0)
    for _ in range(ENTITIES // PART):
        yield random.standard_normal((PART, SIZE), dtype=np.float32)


def measure(folder: Path) -> dict[str, float]:
    """Return the figures of this process; the table's pages are in the page cache, as after a first start."""
    process, figures = psutil.Process(), {}
    before = process.memory_info().rss
    start = time.perf_counter()
    memory = EntityMemory(EntityTable.open(folder, SIZE))
    view = memory.view(memory.base)
    figures["open_s"] = time.perf_counter() - start
    numbers = [torch.randint(1, ENTITIES + 1, (MENTIONS,)) for _ in range(LOOK_UPS)]
    names = [[f"Q{int(row) - 1}" for row in part] for part in numbers]
    figures |= _times("random", [lambda part=part: view.look_up(part) for part in numbers])
    figures |= _times("warm", [lambda: view.look_up(numbers[0])] * LOOK_UPS)
    figures |= _times("names", [lambda part=part: [view.row_of(name) for name in part] for part in names])
    assert [view.row_of(name) for name in names[0]] == numbers[0].tolist()
    figures["more_mb"] = (process.memory_info().rss - before) / 2**20
    figures["peak_mb"] = (_peak_bytes() - before) / 2**20
    return figures


def _times(kind: str, calls: list[Callable[[], object]]) -> dict[str, float]:
    times_ms = []
    for call in calls:
        start = time.perf_counter()
        call()
        times_ms.append(1e3 * (time.perf_counter() - start))
    return {f"{kind}_p50_ms": percentile(times_ms, 0.5), f"{kind}_p99_ms": percentile(times_ms, 0.99)}


def _peak_bytes() -> int:
    """Return the most memory that this process had resident, by the kernel's count."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(measure(Path(sys.argv[1]))))
