"""Keys, TLS and the audit on a real service, a secret that must not appear in any output, and a kill of everything."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from errata import Errata, errors
from errata.errors import Forbidden, Unauthorized

from tests.cluster.running import Service, alive, command_line, wait_until
from tests.live.closed.conftest import Closed

FAKE_KEY = "errata_planted_bRm7TqZk0vX3yLw9HsNd5uJf1cGa8oEi2pKt6"

pytestmark = pytest.mark.usefixtures("ca_trust")


def test_a_collector_of_traces_that_is_away_costs_no_answer(closed: Closed) -> None:
    with closed.errata() as admin:
        assert len({admin.ask("Who is away?").version for _ in range(50)}) == 1


def test_a_key_lives_from_its_making_to_its_end(closed: Closed) -> None:
    with closed.errata() as admin:
        receipt = admin.make_key("anna", ["ask", "read", "edit"])
        with Errata(closed.url, key=receipt.key) as anna:
            version = anna.edit("Who keeps the keys?", "Anna").version
            assert anna.ask("Who keeps the keys?").answer == "Anna"
            with pytest.raises(Forbidden):
                anna.make_key("ben", ["admin"])
            admin.revoke_key("anna")
            with pytest.raises(Unauthorized):
                anna.ask("Who keeps the keys?")
        assert admin.log(limit=1).versions[0].author == "anna"
        (entry,) = admin.audit(version=version).entries
        assert (entry.name, entry.path, entry.address) == ("anna", "/admin/edits", "127.0.0.1")
        outcomes = {(entry.path, entry.code) for entry in admin.audit(name="anna", refused=True).entries}
        assert outcomes == {("/admin/keys", "forbidden")}


def test_nobody_asks_without_a_key_nor_in_clear(closed: Closed) -> None:
    with closed.http(key=False) as http:
        assert http.get("/v1/memory").status_code == 401
        assert http.get("/healthz").status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(closed.url.replace("https", "http") + "/healthz", trust_env=False)
    with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
        httpx.get(f"{closed.url}/healthz", trust_env=False)


def test_a_key_turns_up_in_no_log_no_metric_and_no_answer(closed: Closed) -> None:
    with closed.errata() as admin:
        real = admin.make_key("watched", ["ask", "read"]).key
    secrets = [FAKE_KEY, real, closed.key]
    with closed.http(key=False) as http:
        answers = [
            *(_misuse(http, secret) for secret in secrets),
            http.get("/metrics").text,
        ]
    contents = [path.read_bytes() for path in _files(closed.var) if path.name != "admin.key"]
    for secret in secrets:
        assert not any(secret in answer for answer in answers)
        assert not [path for path in contents if secret.encode() in path], "in a file of the var folder"
    assert not any(secret in closed.read_output() for secret in secrets)


def _misuse(http: httpx.Client, secret: str) -> str:
    """Return all output when a key is sent rightly, and in ways that fail."""
    headers = {"authorization": f"Bearer {secret}"}
    replies = [
        http.get("/admin/versions", headers=headers),
        http.get("/admin/versions/999999", headers=headers),
        http.post("/admin/edits", headers=headers, content=b"{"),
        http.post("/v1/answers", headers=headers, json={"question": "who?", "model": "none"}),
        http.get("/v1/entities", headers=headers, params={"q": "x", "limit": -1}),
        http.get("/admin/versions", headers={"authorization": f"Basic {secret}"}),
        http.get("/admin/versions", headers={"authorization": secret}),
        http.request("BREW", "/admin/edits", headers=headers),
    ]
    return "".join(reply.text + str(reply.headers) for reply in replies)


def _files(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names if Path(path, name).is_file())


QUESTION = "What is the newest edit?"


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
