"""`python -m tests.live.strangers [WORD...]`: what forms and files of strangers do to a running service.

Each of `strangers_files.generate`, or those whose names have one of the words, is sent by a process of its own, with
no key and with keys of `ask`, `propose` and `edit`, while `/healthz` is asked. The table says what p99 it had, beside
the idle one, and how much memory the ingress and the editor hold before and after.
"""

import http.client
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.bench.timing import percentile
from tests.cluster.running import Service
from tests.live.strangers_files import TOKEN, Sending, generate

SCOPES = {"ask": ["ask"], "propose": ["ask", "read", "propose"], "edit": ["ask", "read", "edit"]}
WORDS = [
    *("--system", "kbert=tests.service.toy_graph:load_atlas"),
    *("--system", "docs=tests.service.toy_documents:load"),
    *("--rate-per-key", "1000000/minute", "--rate-per-address", "1000000/minute"),
]
IDLE_S, LEAST_S = 10.0, 2.0  # seconds of the idle measurement, and the fewest of each other one
PROBE_EVERY_S = 0.005
REPLY_LIMIT_S = 120.0
SETTLE_S = 10.0
MAX_SLOWER_S, MAX_GROWTH = 0.1, 20_000_000  # seconds over idle; bytes


def send(port: int, sending: Sending, key: str) -> int:
    """Return the status; 0 where the connection was closed before."""
    headers = {"content-type": sending.media_type, "accept": "application/json, text/event-stream"}
    headers |= {"authorization": f"Bearer {key}"} if key else {}
    headers["cookie"] = f"errata_form={TOKEN}" + (f"; errata_key={key}" if key else "")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REPLY_LIMIT_S)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # refused while it sends; the reply says why
            connection.request(sending.verb, sending.path, sending.body, headers)
        reply = connection.getresponse()
        reply.read()
        return reply.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def probe(service: Service, until: float, process: object = None) -> list[float]:
    """Ask `/healthz` until then, and as long as a process lives; return the seconds of each reply."""
    times_s = []
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=REPLY_LIMIT_S)
    while time.monotonic() < until or (process is not None and process.is_alive()):  # type: ignore[attr-defined]
        started_at = time.monotonic()
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
        times_s.append(time.monotonic() - started_at)
        time.sleep(PROBE_EVERY_S)
    connection.close()
    return times_s


def attack(port: int, sending: Sending, keys: Sequence[str], replies: object) -> None:
    ends_at = time.monotonic() + LEAST_S
    first = [send(port, sending, key) for key in keys]
    while time.monotonic() < ends_at:
        for key in keys:
            send(port, sending, key)
    replies.put(first)  # type: ignore[attr-defined]


def read_memory(service: Service) -> Mapping[str, int]:
    parts = ("ingress", "editor")
    return {
        part: psutil.Process(service.pids_of(f"ServeReplica:errata:{part}")[0]).memory_info().rss
        for part in parts
    }


def make_keys(service: Service) -> list[str]:
    with service.http() as client:
        replies = [
            client.post("/admin/keys", json={"name": name, "scopes": scopes})
            for name, scopes in SCOPES.items()
        ]
    return ["", *(reply.json()["key"] for reply in replies)]


def run(service: Service, words: Sequence[str]) -> bool:
    """Print the table, and return whether all is within its bounds."""
    keys = make_keys(service)
    warm = Sending("/v1/answers", "application/json", b'{"question": "What is the capital of Peru?"}')
    for _ in range(200):
        send(service.port, warm, "")
    idle_s = percentile(probe(service, time.monotonic() + IDLE_S), 0.99)
    before, is_good = read_memory(service), True
    print(f"idle: p99 of /healthz {1e3 * idle_s:.0f} ms")
    print("| sent | p99, ms | slowest, ms | seconds | ingress, editor, MB | status |")
    print("|---|---|---|---|---|---|", flush=True)
    context = get_context("fork")
    for name, make in generate():
        if words and not any(word in name for word in words):
            continue
        replies, sending = context.Queue(), make()
        sender = context.Process(target=attack, args=(service.port, sending, keys, replies), daemon=True)
        started_at = time.monotonic()
        sender.start()
        times_s = probe(service, started_at + LEAST_S, sender)
        statuses, p99_s = replies.get(timeout=5), percentile(times_s, 0.99)
        sender.join()
        is_good &= p99_s <= idle_s + MAX_SLOWER_S and not {0, 500} & set(statuses)
        seconds = time.monotonic() - started_at
        memory = " ".join(f"{n_bytes / 1e6:.0f}" for n_bytes in read_memory(service).values())
        figures = f"{1e3 * p99_s:.0f} | {1e3 * max(times_s):.0f} | {seconds:.0f} | {memory}"
        print(f"| {name} | {figures} | {' '.join(map(str, statuses))} |", flush=True)
    time.sleep(SETTLE_S)
    for part, n_bytes in read_memory(service).items():
        growth = n_bytes - before[part]
        is_good &= growth <= MAX_GROWTH
        print(f"{part}: {before[part] / 1e6:.0f} MB before, {n_bytes / 1e6:.0f} MB after", flush=True)
    return is_good


def main() -> None:
    with TemporaryDirectory() as folder:
        service = Service(Path(folder) / "var", words=WORDS)
        try:
            is_good = run(service.start(), sys.argv[1:])
        finally:
            service.stop()
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
