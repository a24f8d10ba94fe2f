"""/readyz stays 200 during edits and a restart of the editor, so that a load balancer turns no client away."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.cluster.running import Service, kill, wait_until

N_COMMITS = 200
LIMIT_MS = 100.0
PROBE_S = 0.02

pytestmark = [pytest.mark.timeout(600), pytest.mark.alone]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("readiness") / "var", replicas=2)
    try:
        yield service.start()
    finally:
        service.stop()


@dataclass
class Probes:
    """Probes like those of a load balancer, made all the time. times_ms: time of each probe."""

    statuses: list[int] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)


@contextmanager
def probing(service: Service) -> Iterator[Probes]:
    probes, stop = Probes(), threading.Event()

    def probe() -> None:
        with service.http(key=False) as http:
            while not stop.wait(PROBE_S):
                start = time.perf_counter()
                probes.statuses.append(http.get("/readyz").status_code)
                probes.times_ms.append(1e3 * (time.perf_counter() - start))

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    try:
        yield probes
    finally:
        stop.set()
        thread.join(60)


def test_commits_and_the_editors_death_make_nothing_unready(service: Service) -> None:
    with service.errata() as errata, probing(service) as probes:
        for number in range(N_COMMITS):
            errata.edit("What is the capital of France?", f"Lyon {number}")
        [editor] = service.pids_of("ServeReplica:errata:editor")
        kill(editor)
        wait_until(
            lambda: [pid for pid in service.pids_of("ServeReplica:errata:editor") if pid != editor],
            60,
            "Ray to start another editor",
        )
        service.wait_until_ready()
        assert errata.edit("What is the capital of France?", "Nice").version is not None
    assert len(probes.statuses) > N_COMMITS
    assert set(probes.statuses) == {200}
    assert sorted(probes.times_ms)[int(0.99 * len(probes.times_ms))] <= LIMIT_MS
