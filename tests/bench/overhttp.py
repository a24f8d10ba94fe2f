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

from tests.bench.processes import run_errata, run_litserve
from tests.bench.questions import questions
from tests.bench.table import Row

ROUNDS, SECONDS = 3, 4.0
CALLERS = (1, 8, 32)
ALONE = 200  # questions asked one after the other
AT_MOST_S = 300.0


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with run_errata(folder, 1) as server, run_litserve(folder) as peer:
            our_url, peer_url = server.url, peer.url
            for callers in CALLERS:
                yield _compare(our_url, peer_url, callers)
            yield _compare_batch_route(our_url)
            yield from _measure_parts(our_url)
            yield _compare_facts(our_url)


def _compare(our_url: str, peer_url: str, callers: int) -> Row:
    runs_by_server: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(ROUNDS):
        runs_by_server["ours"].append(measure_load(f"{our_url}/v1/answers", callers))
        runs_by_server["theirs"].append(measure_load(f"{peer_url}/predict", callers))
    speed = {
        name: statistics.median(run["per_second"] for run in runs) for name, runs in runs_by_server.items()
    }
    p50 = {name: statistics.median(run["p50_ms"] for run in runs) for name, runs in runs_by_server.items()}
    note = f"{speed['ours']:.0f} against {speed['theirs']:.0f} per s; p50 {p50['ours']:.1f} and {p50['theirs']:.1f} ms"
    bar = ">= 1" if callers in (1, 32) else ""
    return Row(f"over HTTP, {callers} callers, against LitServe", speed["ours"] / speed["theirs"], bar, note)


def _compare_batch_route(our_url: str) -> Row:
    singles = statistics.median(measure_load(f"{our_url}/v1/answers", 1)["per_second"] for _ in range(ROUNDS))
    batches = statistics.median(
        measure_load(f"{our_url}/v1/answers/batch", 1, 32)["per_second"] for _ in range(ROUNDS)
    )
    note = f"{batches:.0f} against {singles:.0f} questions per s, one caller, 32 a batch"
    return Row("/v1/answers/batch against single requests", batches / singles, ">= 3", note)


def _measure_parts(url: str) -> Iterator[Row]:
    """Ask one question at a time; compare the replica's own times with the time that the caller waits."""
    measurements: list[dict[str, float]] = []
    with httpx.Client(base_url=url) as http:
        for question in questions(ALONE, seed=5):
            start = time.perf_counter()
            body = {"question": question, "model": "nkb"}
            timings = http.post("/v1/answers", json=body).json()["timings"]
            waited_ms = 1e3 * (time.perf_counter() - start)
            inside_ms = timings["queue_ms"] + timings["model_ms"]
            measurements.append(
                {
                    "queue": timings["queue_ms"],
                    "model": timings["model_ms"],
                    "HTTP and hops": waited_ms - inside_ms,
                }
            )
    for part in measurements[0]:
        note = f"ms, median of {ALONE} questions, one caller"
        yield Row(
            f"a question over HTTP: {part}",
            statistics.median(measurement[part] for measurement in measurements),
            "",
            note,
        )


def _compare_facts(url: str) -> Row:
    """Compare the same system and questions with and without the graph, in turns."""
    sides = {"with": {"model": "kbert"}, "without": {"model": "kbert", "kg": "none"}}
    rates_by_side: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, fields in sides.items():
            rates_by_side[name].append(measure_load(f"{url}/v1/answers", 32, fields=fields)["per_second"])
    speed = {name: statistics.median(rates) for name, rates in rates_by_side.items()}
    note = f"{speed['with']:.0f} against {speed['without']:.0f} per s, 32 callers"
    return Row("K-BERT with facts, against without", speed["with"] / speed["without"], ">= 0.5", note)


def measure_load(
    url: str, callers: int, batch: int = 1, fields: Mapping[str, str] | None = None
) -> dict[str, float]:
    command = [*_load_command(url, callers, SECONDS, batch), json.dumps(dict(fields or {}))]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    figures: dict[str, float] = json.loads(process.stdout)
    return figures


@contextmanager
def keep_asking(url: str, callers: int) -> Iterator[None]:
    """Run callers that ask until the block ends."""
    process = subprocess.Popen(_load_command(url, callers, AT_MOST_S, 1), stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _load_command(url: str, callers: int, seconds: float, batch: int) -> list[str]:
    return [sys.executable, "-m", "tests.bench.load", url, str(callers), str(seconds), str(batch)]
