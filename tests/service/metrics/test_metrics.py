"""Metrics, of one process and of several."""

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY, Gauge
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.parser import text_string_to_metric_families

from service.http.middleware.edge import MetricsMiddleware
from service.metrics import metrics
from service.metrics import pages as multiprocess
from service.metrics.pages import FIRST_BYTES, ReservedFile
from tests.cluster.running import ROOT, quiet_port, wait_until

SETS = """
import os, sys
from pathlib import Path
model, version, state, port, takes = sys.argv[1:]
for file in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob(f"gauge_live*_{takes}.db"):
    file.rename(file.with_name(file.name.replace(takes, str(os.getpid()))))
from service.metrics import metrics
metrics.count_start(model)
metrics.set_replica_version(model, int(version), 7, 0)
metrics.LEDGER_UP.labels("replica").set(int(state))
metrics.set_ready(model, int(port) or None)
metrics.QUEUE.labels(model, "replica").set(3)
print("set", flush=True)
sys.stdin.readline()
metrics.count_end(model)
print("ended", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def authors() -> Iterator[set[str]]:
    before = set(metrics._authors)
    yield metrics._authors
    metrics._authors.clear()
    metrics._authors.update(before)


def sample(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_commits_of_more_authors_than_there_is_room_for_are_counted_together(authors: set[str]) -> None:
    authors.clear()
    before = sample("errata_commits_total", author="others") or 0
    for number in range(metrics.MAX_AUTHORS + 10):
        metrics.count_commit(f"author {number}")
    metrics.count_commit("author 0")
    assert sample("errata_commits_total", author="author 0") == 2
    assert sample("errata_commits_total", author=f"author {metrics.MAX_AUTHORS}") is None
    assert sample("errata_commits_total", author="others") == before + 10


def test_the_lowest_of_processes_has_labels_since_each_of_them_begins_at_zero_without() -> None:
    gauges = [value for value in vars(metrics).values() if isinstance(value, Gauge)]
    lowest = [gauge for gauge in gauges if gauge._multiprocess_mode == "livemin"]
    assert len(lowest) >= 3
    assert all(gauge._labelnames for gauge in lowest), lowest


async def test_a_method_that_a_client_invents_gets_no_label_of_its_own() -> None:
    app = FastAPI()
    app.add_middleware(MetricsMiddleware)
    before = sample("errata_http_requests_total", route="none", method="other", status="404") or 0
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1") as http:
        for number in range(3):
            await http.request(f"INVENTED{number}", "/")
    after = sample("errata_http_requests_total", route="none", method="other", status="404")
    assert after == before + 3
    assert sample("errata_http_in_flight") == 0


def test_the_page_shows_the_worst_of_those_that_live_and_nothing_of_the_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder [1] *"  # a pattern for those who take it for one
    monkeypatch.setenv(metrics.DIRECTORY, str(folder))
    alive = process("nkb", "7", "1", folder=folder)
    dead = process("nkb", "5", "0", folder=folder)
    try:
        page = metrics.render().decode()
        assert 'errata_replica_version_min{model="nkb"} 5.0' in page
        assert 'errata_replica_version_max{model="nkb"} 7.0' in page
        assert 'errata_ledger_up{role="replica"} 0.0' in page
        assert 'errata_queue_questions{model="nkb",place="replica"} 6.0' in page
        dead.kill()
        dead.wait()
        page = metrics.render().decode()
        assert 'errata_replica_version_min{model="nkb"} 7.0' in page
        assert 'errata_ledger_up{role="replica"} 1.0' in page
        assert 'errata_queue_questions{model="nkb",place="replica"} 3.0' in page
        assert page.count("errata_build_info{") == 1
    finally:
        for child in (alive, dead):
            child.kill()
            child.communicate()


def test_who_began_and_neither_runs_nor_ended_as_it_was_asked_to_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(metrics.DIRECTORY, str(tmp_path))
    victim, leaver, survivor = [process("nkb", "7", "1", folder=tmp_path) for _ in range(3)]
    try:
        assert deaths() == 3 - 0 - 3
        assert leaver.stdin is not None
        assert leaver.stdout is not None
        print(file=leaver.stdin, flush=True)
        assert leaver.stdout.readline() == "ended\n"
        assert deaths() == 3 - 1 - 2
        leaver.kill()
        leaver.wait()
        assert deaths() == 3 - 1 - 2
        victim.kill()
        victim.wait()
        assert deaths() == 3 - 1 - 1
    finally:
        for child in (victim, leaver, survivor):
            child.kill()
            child.communicate()


def deaths() -> float:
    """Return deaths as the rule instance_part:errata_process_deaths:total counts them."""
    families = text_string_to_metric_families(metrics.render().decode())
    values = {
        figure.name: figure.value
        for family in families
        for figure in family.samples
        if "part" in figure.labels
    }
    return (
        values["errata_process_starts_total"]
        - values["errata_process_ends_total"]
        - values["errata_processes"]
    )


@pytest.mark.parametrize("owner", ["a younger process", "a thread", "the process that shows the page"])
def test_what_a_dead_process_left_is_not_shown_although_its_number_is_taken(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(metrics.DIRECTORY, str(tmp_path))
    dead = process("nkb", "5", "0", folder=tmp_path)
    assert 'errata_ledger_up{role="replica"} 0.0' in metrics.render().decode()
    dead.kill()
    dead.communicate()
    with somebody(owner) as number:
        for file in tmp_path.glob(f"gauge_live*_{dead.pid}.db"):
            renamed_file = file.rename(file.with_name(file.name.replace(f"_{dead.pid}.", f"_{number}.")))
            os.utime(renamed_file, (0, 0))
        page = metrics.render().decode()
    assert "errata_ledger_up" not in page
    assert "errata_replica_version_min" not in page


@contextmanager
def somebody(owner: str) -> Iterator[int]:
    """Return the number of a process or thread that is alive."""
    if owner == "the process that shows the page":
        yield os.getpid()
    elif owner == "a thread":
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        yield thread.native_id or 0
        end.set()
        thread.join()
    else:
        with subprocess.Popen(["sleep", "60"]) as sleeping:
            yield sleeping.pid
            sleeping.kill()


def test_a_process_goes_on_from_nothing_that_an_earlier_one_of_its_number_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(metrics.DIRECTORY, str(tmp_path))
    earlier = process("nkb", "5", "0", folder=tmp_path)
    earlier.kill()
    earlier.communicate()
    later = process("kbert", "7", "1", folder=tmp_path, takes=earlier.pid)
    try:
        page = metrics.render().decode()
        assert 'errata_replica_version_min{model="kbert"} 7.0' in page
        assert 'model="nkb"' not in page
    finally:
        later.kill()
        later.communicate()


def test_a_machine_has_one_page_on_a_port_of_its_own_whoever_of_its_processes_dies(tmp_path: Path) -> None:
    port = quiet_port()
    first = process("nkb", "7", "1", folder=tmp_path, port=port)
    wait_until(lambda: "errata_ledger_up" in read(port), 10, "the first process to show the page")
    second = process("kbert", "7", "1", folder=tmp_path, port=port)
    try:
        assert 'errata_replica_version_min{model="kbert"} 7.0' in read(port)
        first.kill()
        first.wait()
        wait_until(lambda: 'model="kbert"' in read(port), 10, "the second one to take the port")
        assert 'model="nkb"' not in read(port)
        assert 'model="kbert"' in read(port, "[::1]")
    finally:
        for child in (first, second):
            child.kill()
            child.communicate()


def read(port: int, host: str = "127.0.0.1") -> str:
    try:
        return httpx.get(f"http://{host}:{port}/metrics", trust_env=False).text
    except httpx.HTTPError:
        return ""


def process(*words: str, folder: Path, port: int = 0, takes: int = 0) -> subprocess.Popen[str]:
    """One that has set its figures, and waits. takes: the number of a dead one, whose gauges it finds as its own."""
    environment = {
        **os.environ,
        metrics.DIRECTORY: str(folder),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", SETS, *words, f"{port}", f"{takes}"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "set\n"
    return child


@contextmanager
def room(n_bytes: int) -> Iterator[None]:
    """Let files grow to a size and no further, which fails as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def read_all(path: Path) -> dict[str, float]:
    return {key.strip(): value for key, value, _, _ in MmapedDict.read_all_values_from_file(path)}


def test_values_without_room_wait_and_are_written_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocess, "RETRY_S", 0.0)
    path = tmp_path / "missing" / "counter_1.db"
    file, later = ReservedFile(str(path)), ReservedFile(str(path))
    with room(0):
        assert file.read_value("a") == (0.0, 0.0)
        file.write_value("a", 1.0, 0.0)
        assert not path.exists(), "the page of all processes cannot be made from an empty file"
    entries = {f"key {number} {'x' * 100}": float(number) for number in range(2 * FIRST_BYTES // 150)}
    with room(FIRST_BYTES):
        for key, value in entries.items():
            file.write_value(key, value, 0.0)
        file.write_value("a", 2.0, 0.0)
        assert read_all(path)["a"] == 2.0, "what has its place is written"
        assert path.stat().st_blocks * 512 >= path.stat().st_size == FIRST_BYTES
    file.write_value("a", 3.0, 0.0)
    assert read_all(path) == entries | {"a": 3.0}
    assert path.stat().st_blocks * 512 >= path.stat().st_size > FIRST_BYTES
    assert later.read_value("a") == (3.0, 0.0), "a process of the same id goes on from there"
    for values in (file, later):
        values.close()  # type: ignore[no-untyped-call]
