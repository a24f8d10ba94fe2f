"""`/healthz` beside the worst requests that the limits of one caller admit.

An attacker in a process of its own, which gives way to the service, calls as often as the default limits allow a key
where other machines connect: 6,000 times a minute, over a line of 1 Gbit/s. Pages without a key are called as fast as
they are answered. The names are those of the findings: N3 checks of a batch, N4 pages without a key, N5 bodies that are
held, N6 texts and signs that a scanner might not count.
"""

import http.client
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from errata import Errata

from tests.bench.processes import run_errata
from tests.bench.table import Row
from tests.bench.timing import percentile

LIMITS = ("--rate-per-key", "6000/minute", "--rate-per-address", "1200/minute", "--max-concurrent", "128")
SECONDS, WARM_S = 10.0, 1.0
PAUSE_S = 0.005  # between two probes
CALLS_PER_S = 100  # of one key, by its limit
THREADS = 8
NICE = 10
HELD_BYTES, HELD_S = 19_000_000, 5.0
LINE_BYTES_PER_S = 125_000_000  # of a line of 1 Gbit/s, which carries 100 bodies of 1 MB a second
BAR_P99, BAR_SLOWEST = "<= 10", "<= 50"


@dataclass(frozen=True)
class Request:
    """A request that is sent again and again, `per_second` times; 0 means as fast as it is answered."""

    verb: str
    path: str
    body: bytes = b""
    per_second: float = CALLS_PER_S


def _batch(**fields: object) -> bytes:
    return json.dumps({"questions": [{"question": "a", **fields}] * 256}).encode()


ASK, BATCH = "/v1/answers", "/v1/answers/batch"
REQUESTS: Mapping[str, Request] = {
    "N3 256 questions of 14 wrong candidates": Request("POST", BATCH, _batch(candidates=[1] * 14)),
    "N3 256 questions of 14 unknown fields": Request(
        "POST", BATCH, _batch(**{f"x{n}": 1 for n in range(14)})
    ),
    "N4 /discovery/service": Request("GET", "/discovery/service", per_second=0),
    "N4 /metrics": Request("GET", "/metrics", per_second=0),
    "N6 999 kB of ]": Request("POST", ASK, b"]" * 999_000),
    "N6 999 kB of ,": Request("POST", ASK, b"," * 999_000),
    'N6 999 kB of ""': Request("POST", ASK, b'""' * 499_500),
}


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with run_errata(folder, 1, "--system", "nkb", *LIMITS) as server:
            admin_key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=admin_key) as admin:
                key = admin.make_key("caller", ["ask", "edit"]).key
            port = int(server.url.rpartition(":")[2])
            yield from _measure("nothing", port, None)
            for name, request in REQUESTS.items():
                yield from _measure(name, port, partial(_send_often, port, key, request))
            yield from _measure(
                "N5 bodies of 19 MB, held at their last byte", port, partial(_hold, port, key)
            )


def _measure(name: str, port: int, attack: Callable[[], None] | None) -> Iterator[Row]:
    with _attacking(attack):
        time.sleep(WARM_S)
        times_ms = _probe(port)
    note = f"ms, {len(times_ms):,} calls, the median {percentile(times_ms, 0.5):.1f} ms"
    yield Row(f"/healthz p99 beside {name}", percentile(times_ms, 0.99), BAR_P99, note)
    yield Row(f"/healthz, the slowest beside {name}", max(times_ms), BAR_SLOWEST, "ms")


def _probe(port: int) -> list[float]:
    times_ms: list[float] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    ends_at = time.perf_counter() + SECONDS
    while time.perf_counter() < ends_at:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times_ms.append(1e3 * (time.perf_counter() - start))
        time.sleep(PAUSE_S)
    connection.close()
    return times_ms


@contextmanager
def _attacking(attack: Callable[[], None] | None) -> Iterator[None]:
    if attack is None:
        yield
        return
    attacker = get_context("fork").Process(target=attack, daemon=True)
    attacker.start()
    try:
        yield
        if not attacker.is_alive():
            raise RuntimeError("the attacker failed: see above")
    finally:
        attacker.kill()
        attacker.join()


def _run_threads(work: Callable[[], None]) -> None:
    """Repeat `work` in several threads for ever, after the processes of the service."""
    os.nice(NICE)

    def repeat() -> None:
        while True:
            work()

    threads = [threading.Thread(target=repeat) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _send_often(port: int, key: str, request: Request) -> None:
    pause_s = THREADS / request.per_second if request.per_second else 0.0
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def send() -> None:
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with suppress(OSError, http.client.HTTPException):  # refused while it sends
            connection.request(request.verb, request.path, request.body or None, headers)
            connection.getresponse().read()
        connection.close()
        time.sleep(max(0.0, pause_s - (time.perf_counter() - start)))

    _run_threads(send)


def _hold(port: int, key: str) -> None:
    head = (
        f"POST /admin/edits HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {HELD_BYTES}\r\n\r\n"
    ).encode()
    body = b" " * (HELD_BYTES - 1)

    def hold() -> None:
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=HELD_S) as connection,
        ):
            connection.sendall(head + body)
            connection.recv(1_000)  # a refusal, or no reply before the time limit
        time.sleep(THREADS * HELD_BYTES / LINE_BYTES_PER_S)

    _run_threads(hold)
