"""Over HTTP, against LitServe with the same checkpoint: callers in another process, the two servers in turns."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.bench.processes import errata, litserve
from tests.bench.questions import questions
from tests.bench.table import Row

ROUNDS, SECONDS = 5, 5.0
CALLERS = (1, 8, 32)
ALONE = 200  # questions asked one after the other
AT_MOST_S = 300.0


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with errata(folder, 1) as server, litserve(folder) as peer:
            ours, theirs = server.url, peer.url
            for callers in CALLERS:
                yield _against(ours, theirs, callers)
            yield _batch_route(ours)
            yield from _where_time_goes(ours)
            yield _facts(ours)


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


def _where_time_goes(url: str) -> Iterator[Row]:
    """One question at a time: what the replica says of itself, and what is left of what the caller waits."""
    told: list[dict[str, float]] = []
    with httpx.Client(base_url=url) as http:
        for question in questions(ALONE, seed=5):
            started = time.perf_counter()
            timings = http.post("/v1/answers", json={"question": question}).json()["timings"]
            waited_ms = 1e3 * (time.perf_counter() - started)
            inside = timings["queue_ms"] + timings["model_ms"]
            told.append(
                {
                    "queue": timings["queue_ms"],
                    "model": timings["model_ms"],
                    "HTTP and hops": waited_ms - inside,
                }
            )
    for part in told[0]:
        note = f"ms, median of {ALONE} questions, one caller"
        yield Row(f"a question over HTTP: {part}", statistics.median(one[part] for one in told), "", note)


def _facts(url: str) -> Row:
    """The same system and questions with the graph and without it, in turns."""
    sides = {"with": {"model": "kbert"}, "without": {"model": "kbert", "kg": "none"}}
    seen: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, more in sides.items():
            seen[name].append(load(f"{url}/v1/answers", 32, more=more)["per_second"])
    speed = {name: statistics.median(found) for name, found in seen.items()}
    note = f"{speed['with']:.0f} against {speed['without']:.0f} per s, 32 callers"
    return Row("K-BERT with facts, against without", speed["with"] / speed["without"], ">= 0.5", note)


def load(url: str, callers: int, batch: int = 1, more: Mapping[str, str] | None = None) -> dict[str, float]:
    words = [*_words(url, callers, SECONDS, batch), json.dumps(dict(more or {}))]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def asking(url: str, callers: int) -> Iterator[None]:
    """Callers that ask until the block ends."""
    process = subprocess.Popen(_words(url, callers, AT_MOST_S, 1), stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _words(url: str, callers: int, seconds: float, batch: int) -> list[str]:
    return [sys.executable, "-m", "tests.bench.load", url, str(callers), str(seconds), str(batch)]
