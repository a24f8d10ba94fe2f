"""A service that is killed whole at a random moment, started again beside another, and stopped in order."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from errata import errors

from tests.cluster.running import Service, alive, command_line, wait_until
from tests.live.closed.conftest import Closed

QUESTION = "What is the newest edit?"

pytestmark = pytest.mark.usefixtures("ca_trust")


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path / "var")
    try:
        yield service.start()
    finally:
        service.stop()


class Writer:
    """A writer that edits without pause until the service is gone. versions: those acknowledged, with answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.versions: dict[int, str] = {}
        self.thread = threading.Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        with self._service.errata() as client:
            for turn in range(100_000):
                try:
                    version = client.edit(QUESTION, f"edit {turn}", wait=("all", "none")[turn % 2]).version
                except errors.ErrataError:
                    return
                assert version is not None
                self.versions[version] = f"edit {turn}"


def test_kill_9_of_everything_loses_nothing_that_was_acknowledged(closed: Closed) -> None:
    writer = Writer(closed)
    writer.thread.start()
    wait_until(lambda: len(writer.versions) > 5, 30, "the first edits")
    writer.thread.join(random.uniform(0.1, 1.0))
    closed.kill_everything()
    writer.thread.join(40)
    closed.start()
    with closed.errata() as errata:
        assert errata.log().head in (max(writer.versions), max(writer.versions) + 1)
        for version, answer in list(writer.versions.items())[-6:]:
            assert errata.ask(QUESTION, version=version).answer == answer
        assert {v: errata.show(v).edits[0].answer for v in writer.versions} == writer.versions
        (replica,) = errata.replicas().replicas
        assert replica.checksums == errata.memory().checksums
        assert errata.check().broken == []


def test_what_a_killed_launcher_leaves_is_gone_after_the_next_start(closed: Closed) -> None:
    head = _head(closed)
    family = closed.family()
    closed.launcher_dies()
    closed.start()
    assert [command_line(pid) for pid in family if alive(pid)] == []
    assert _head(closed) == head


def test_the_files_it_keeps_are_its_owners_alone(closed: Closed) -> None:
    for path in [closed.var / "admin.key", closed.var / "valkey"]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_two_services_know_nothing_of_each_other(beside: Service, closed: Closed) -> None:
    assert beside.key != closed.key
    with beside.errata() as own_client, closed.errata() as other_client:
        before = own_client.log().head
        version = other_client.edit("What is the capital of Peru?", "Cusco").version
        assert own_client.log().head == before
        assert own_client.ask("What is the capital of Peru?").answer == "Lima"
        assert {replica.replica for replica in own_client.replicas().replicas}.isdisjoint(
            replica.replica for replica in other_client.replicas().replicas
        )
        assert version is not None
        other_client.revert(version)
    with closed.errata(key=beside.key) as stranger, pytest.raises(errors.Unauthorized):
        stranger.log()


def test_asking_all_its_processes_to_stop_stops_everything_it_started(closed: Closed) -> None:
    """As systemd does it, and an impatient person's second Ctrl-C. Ray, which goes at once, hangs who still asks it."""
    family = closed.family()
    os.killpg(closed.pid, signal.SIGTERM)
    assert closed.stop(signal.SIGTERM) == 0
    assert [command_line(pid) for pid in family if alive(pid)] == []
    assert closed.read_output().strip().endswith("Stopped.")
    assert "Traceback" not in closed.read_output()


def _head(service: Service) -> int:
    with service.errata() as errata:
        return errata.log(limit=1).head
