"""The cost of keys and limits for a question: the same server asked with a key that is counted, and without one."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from errata import Errata

from tests.bench.overhttp import measure_load
from tests.bench.processes import run_errata
from tests.bench.table import Row

ROUNDS = 5
CALLERS = 32
RATE = "60000/minute"  # ten times the default, so that no question is refused


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with run_errata(folder, 1, "--rate-per-key", RATE) as server:
            admin_key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=admin_key) as admin:
                key = admin.make_key("bench", ["ask"]).key
            yield _compare(f"{server.url}/v1/answers", key)


def _compare(url: str, key: str) -> Row:
    rates: dict[str | None, list[float]] = {key: [], None: []}
    slowest: dict[str | None, list[float]] = {key: [], None: []}
    for _ in range(ROUNDS):
        for credential in rates:
            figures = measure_load(url, CALLERS, key=credential)
            rates[credential].append(figures["per_second"])
            slowest[credential].append(figures["p99_ms"])
    speed = {credential: statistics.median(rates[credential]) for credential in rates}
    p99 = {credential: statistics.median(slowest[credential]) for credential in slowest}
    note = f"{speed[key]:.0f} against {speed[None]:.0f} per s; p99 {p99[key]:.0f} and {p99[None]:.0f} ms"
    return Row(
        "32 callers with keys and limits on, against without", speed[key] / speed[None], ">= 0.9", note
    )
