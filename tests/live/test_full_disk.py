"""A service whose disk of 32 MB is full answers, refuses edits, says so, and is well within seconds of room."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chaos.faults.disk import fill_disk
from tests.chaos.life import unmount
from tests.cluster.running import Service, kill, wait_until

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk"),
]
DISK_BYTES, INODES = 32 << 20, "400"
HOLD_S = 10.0
WELL_S = 5.0  # seconds from room until an edit is made and the service says that it is well
QUESTION = "What is the capital of Peru?"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    image = folder.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-N", INODES, str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    try:
        yield folder
    finally:
        unmount(folder)
        image.unlink()


@pytest.fixture
def service(disk: Path) -> Iterator[Service]:
    service = Service(disk / "var", replicas=2)
    service.output = disk.with_suffix(".out")
    try:
        yield service.start()
    finally:
        service.kill_everything()


@contextmanager
def use_inodes(folder: Path) -> Iterator[None]:
    """Create files until the disk has no inode left, and again whenever it has, for as long as the block runs."""
    folder.mkdir()
    end = threading.Event()

    def create() -> None:
        number = 0
        while not end.wait(0.001 if number % 100 == 0 else 0):
            number += 1
            with suppress(OSError):
                (folder / str(number)).touch()

    thread = threading.Thread(target=create)
    thread.start()
    try:
        wait_until(lambda: os.statvfs(folder).f_favail == 0, 30, "the last inode to be used")
        yield
    finally:
        end.set()
        thread.join()
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


class Load:
    """Asks without a pause. replies: status and body of each request; None for a request without a reply."""

    def __init__(self, service: Service) -> None:
        self.replies: list[tuple[int, Any] | None] = []
        self._service, self._end = service, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(2)]

    def _ask(self) -> None:
        while not self._end.is_set():
            with self._service.http() as http:
                self.replies.append(send(lambda: http.post("/v1/answers", json={"question": QUESTION})))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


def send(request: Callable[[], httpx.Response]) -> tuple[int, Any] | None:
    try:
        reply = request()
    except httpx.HTTPError:
        return None
    return reply.status_code, reply.json()


def edit(http: httpx.Client, number: int) -> tuple[int, Any] | None:
    body = {"edits": [{"question": f"Which probe has number {number}?", "answer": f"probe {number}"}]}
    return send(lambda: http.post("/admin/edits", json=body | {"message": "try"}))


def look(http: httpx.Client) -> dict[str, Any]:
    """Return the state of the service, which shows its metrics, too."""
    assert http.get("/metrics").status_code == httpx.codes.OK
    return dict(http.get("/readyz").json())


def test_a_full_disk_costs_no_answer_and_no_edit(service: Service, disk: Path) -> None:
    edits: list[tuple[int, Any] | None] = []
    full = ExitStack()
    full.enter_context(fill_disk(disk / "filler"))  # before the first request, for which metrics are mapped
    with full, service.http() as http, Load(service) as load:
        end = time.monotonic() + HOLD_S
        while time.monotonic() < end:
            edits.append(edit(http, len(edits)))
            state = look(http)
        assert (state["ready"], state["degraded"]) == (True, "ledger_unavailable")
        full.close()
        room_s, n_refused = time.monotonic(), len(edits)
        while (edits[-1] or (0,))[0] != httpx.codes.CREATED or not look(http)["converged"]:
            assert time.monotonic() < room_s + WELL_S, f"{edits[n_refused:]}, {look(http)}"
            edits.append(edit(http, len(edits)))
        well_s = time.monotonic() - room_s
        assert 'errata_answers_total{model="nkb",outcome="answered"}' in http.get("/metrics").text
    assert {reply and reply[0] for reply in load.replies} == {200}, "each question has an answer"
    replies = [reply for reply in edits if reply is not None]
    assert len(replies) == len(edits), "each edit has a reply"
    print(
        f"{len(load.replies)} answers, {n_refused} edits while full, {well_s:.1f} s from room until all was well"
    )
    details = [body["detail"] for status, body in replies if status == httpx.codes.SERVICE_UNAVAILABLE]
    assert len(details) > n_refused / 2
    assert any("the store cannot write, as the disk of" in detail for detail in details)
    with service.errata() as errata:
        for number, (status, _) in enumerate(replies):
            if status == httpx.codes.CREATED:
                assert errata.ask(f"Which probe has number {number}?").answer == f"probe {number}"


def test_a_process_that_dies_while_no_inode_is_left_is_replaced(service: Service, disk: Path) -> None:
    with service.http() as http, use_inodes(disk / "files"):
        assert (edit(http, 1_000) or (0,))[0] == httpx.codes.CREATED
        [ingress] = service.pids_of("ServeReplica:errata:ingress")
        kill(ingress)
        wait_until(lambda: edit(http, 1_001), 240, "a new ingress")
        with service.errata() as errata:
            assert errata.ask("Which probe has number 1001?").answer == "probe 1001"
