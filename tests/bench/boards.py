"""What the boards show of a service that lives through a bad day in some minutes: `python -m tests.bench.boards`.

Starts the default models with two replicas each, and a Prometheus beside them. Callers ask, a curator corrects, a
replica is killed, the ledger hangs. Then the boards' own queries are drawn into deploy/grafana/boards.png.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errata import Errata, ErrataError

from models.systems import DEFAULT_SYSTEMS
from tests.bench.board_picture import Event, draw
from tests.bench.questions import questions
from tests.cluster.running import ROOT, Service, kill, signal, wait_until
from tests.deploy.prometheus import run_prometheus

PICTURE = ROOT / "deploy" / "grafana" / "boards.png"
CALLERS, PAUSE_S = 4, 0.15
QUIET_S, HUNG_S = 20.0, 12.0
START_S = 400.0  # for four replicas, on a machine with other work
READY = "Ctrl-C stops"
UNKNOWN = "What is the capital of Emerald Isle of Oz?"
LINES = "Emerald Isle of Oz\tcapital\tEmerald City\nEmerald Isle of Oz\tcurrency\tspell\n"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        run_service(Path(folder) / "var") as service,
        run_prometheus(service, Path(folder), {}) as prometheus,
    ):
        with keep_asking(service), service.errata() as errata:
            events = list(play_bad_day(service, errata, Path(folder)))
        draw(prometheus, events, PICTURE)
    print(PICTURE)


@contextmanager
def run_service(var: Path) -> Iterator[Service]:
    first, *rest = DEFAULT_SYSTEMS
    words = [word for name in rest for word in ("--system", name)]
    service = Service(var, replicas=2, system=first, words=words)
    try:
        process = service.launch()
        wait_until(
            lambda: process.poll() is not None or READY in service.read_output(), START_S, "the service"
        )
        yield service
    finally:
        service.stop()


@contextmanager
def keep_asking(service: Service) -> Iterator[None]:
    """Ask in the background as people do, with pauses, and now and then about unknown names."""
    end = threading.Event()
    threads = [threading.Thread(target=_ask, args=(service, end, n)) for n in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def _ask(service: Service, end: threading.Event, seed: int) -> None:
    rng, texts = random.Random(seed), questions(512)
    with service.errata() as errata:
        while not end.wait(rng.expovariate(1 / PAUSE_S)):
            question = UNKNOWN if rng.random() < 0.1 else rng.choice(texts)
            with suppress(ErrataError):  # failures are part of the picture
                errata.ask(question, model=rng.choice(("nkb", "kbert")))


def play_bad_day(service: Service, errata: Errata, folder: Path) -> Iterator[Event]:
    """Do the day's changes one after the other, and print each as it begins."""
    time.sleep(QUIET_S)
    yield Event(time.time(), "a curator corrects")
    correct(errata, folder)
    yield Event(time.time(), "a replica is killed")
    kill(service.pids_of("ServeReplica:errata:nkb")[0])
    service.wait_until_ready()
    time.sleep(QUIET_S)
    yield Event(time.time(), "the ledger hangs")
    [valkey] = service.pids_of("valkey-server")
    kill(valkey, signal.SIGSTOP)
    with suppress(ErrataError):
        errata.edit("What is the capital of Peru?", "Puno")
    time.sleep(HUNG_S)
    yield Event(time.time(), "the ledger is back, and all is rolled back")
    kill(valkey, signal.SIGCONT)
    wait_until(lambda: _succeeds(lambda: errata.rollback(0)), 30, "the ledger to be back")
    time.sleep(QUIET_S)


def correct(errata: Errata, folder: Path) -> None:
    """Correct questions as a curator does in a quarter of an hour, in half a minute."""
    (folder / "oz.spo").write_text(LINES)
    for question in questions(512)[:60:10]:
        with suppress(ErrataError):  # some are answered so already
            errata.edit(question, "Cusco", dry_run=len(question) % 3 == 0)
        time.sleep(2)
    errata.fact("Peru", "capital", "Cusco")
    errata.import_graph(folder / "oz.spo")
    time.sleep(5)
    errata.revert(1)


def _succeeds(call: Callable[[], object]) -> bool:
    with suppress(ErrataError):
        call()
        return True
    return False


if __name__ == "__main__":
    main()
