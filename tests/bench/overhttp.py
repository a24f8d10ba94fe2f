"""Over HTTP, against LitServe with the same checkpoint: callers in another process, the two servers in turns."""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.processes import errata, litserve
from tests.bench.table import Row

ROUNDS, SECONDS = 3, 4.0
CALLERS = (1, 8, 32)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with errata(folder, 1) as ours, litserve(folder) as theirs:
            for callers in CALLERS:
                yield _against(ours, theirs, callers)
            yield _batch_route(ours)


def _against(ours: str, theirs: str, callers: int) -> Row:
    seen: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(ROUNDS):
        seen["ours"].append(load(f"{ours}/v1/answers", callers))
        seen["theirs"].append(load(f"{theirs}/predict", callers))
    speed = {name: statistics.median(run["per_second"] for run in runs) for name, runs in seen.items()}
    p50 = {name: statistics.median(run["p50_ms"] for run in runs) for name, runs in seen.items()}
    note = f"{speed['ours']:.0f} against {speed['theirs']:.0f} per s; p50 {p50['ours']:.1f} and {p50['theirs']:.1f} ms"
    bar = ">= 1" if callers in (1, 32) else ""
    return Row(f"over HTTP, {callers} callers, against LitServe", speed["ours"] / speed["theirs"], bar, note)


def _batch_route(ours: str) -> Row:
    singles = statistics.median(load(f"{ours}/v1/answers", 1)["per_second"] for _ in range(ROUNDS))
    batches = statistics.median(load(f"{ours}/v1/answers/batch", 1, 32)["per_second"] for _ in range(ROUNDS))
    note = f"{batches:.0f} against {singles:.0f} questions per s, one caller, 32 a batch"
    return Row("/v1/answers/batch against single requests", batches / singles, ">= 3", note)


def load(url: str, callers: int, batch: int = 1) -> dict[str, float]:
    words = [sys.executable, "-m", "tests.bench.load", url, str(callers), str(SECONDS), str(batch)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, float] = json.loads(done.stdout)
    return found
