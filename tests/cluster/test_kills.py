"""kill -9 of any part while people ask and correct: answers go on, and no acknowledged commit is lost."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from errata import Errata, Retry, errors

from tests.cluster.running import Service, kill, wait_until

FRANCE = "What is the capital of France?"


class Asking:
    """A client that asks all the time. failed: failures, as (kind, text)."""

    def __init__(self, client: Errata) -> None:
        self._client, self._stop = client, threading.Event()
        self.answers, self.failed = 0, list[str]()
        self.thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                self._client.ask(FRANCE, min_version=None)
                self.answers += 1
            except errors.ErrataError as error:
                self.failed.append(f"{type(error).__name__}: {error}")

    def end(self) -> None:
        self._stop.set()
        self.thread.join(60)


@contextmanager
def asking(service: Service, **options: Retry) -> Iterator[Asking]:
    with service.errata(**options) as client:
        somebody = Asking(client)
        somebody.thread.start()
        wait_until(lambda: somebody.answers > 0 or somebody.failed, 60, "the first answer")
        try:
            yield somebody
        finally:
            somebody.end()


def test_killing_a_replica_costs_nobody_an_answer(service: Service) -> None:
    victim, other = service.pids_of("ServeReplica:errata:nkb")
    with asking(service) as somebody:
        kill(victim)
        before = somebody.answers
        wait_until(lambda: somebody.answers > before + 50, 60, "answers to go on")
        replicas = lambda: set(service.pids_of("ServeReplica:errata:nkb")) - {victim}  # noqa: E731
        wait_until(lambda: len(replicas()) == 2, 60, "Ray to start another replica")
        service.wait_until_ready()
    assert somebody.failed == []
    assert other in replicas()
    logs = service.var / "log"
    assert f"Worker PID: {victim} " in (logs / "launcher.log").read_text()
    [controller] = logs.glob("serve/controller_*.log")
    assert "crashed, marking it unhealthy" in controller.read_text()


def test_a_new_replica_has_every_edit_before_it_answers(service: Service) -> None:
    with service.errata() as errata:
        receipt = errata.edit(FRANCE, "Lyon")
        for victim in service.pids_of("ServeReplica:errata:nkb"):
            kill(victim)
        wait_until(lambda: _answers(errata, FRANCE), 60, "a replica to answer again")
        answer = errata.ask(FRANCE, min_version=None)
        assert (answer.answer, answer.version) == ("Lyon", receipt.version)
        service.wait_until_ready()
        assert errata.replicas().replicas[0].checksums == errata.memory().checksums
        assert receipt.version is not None
        errata.revert(receipt.version)


def test_killing_the_editor_stops_no_answer_and_edits_come_back(service: Service) -> None:
    (victim,) = service.pids_of("ServeReplica:errata:editor")
    with asking(service) as somebody, service.errata(retry=Retry(times=40, longest_pause_s=1)) as errata:
        start = errata.log().head
        kill(victim)
        receipt = errata.edit("What is the currency of Peru?", "inti")
        assert receipt.version == start + 1
        assert errata.ask("What is the currency of Peru?").answer == "inti"
        errata.revert(start + 1)
    assert somebody.failed == []


def test_killing_the_ingress_is_over_in_seconds_on_the_same_port(service: Service) -> None:
    """Its clients still hold their connections to the dead ingress."""
    patient = Retry(times=60, longest_pause_s=0.5)
    with asking(service, retry=patient) as somebody, service.http() as idle:
        assert idle.get("/healthz").status_code == 200
        (victim,) = service.pids_of("ServeReplica:errata:ingress")
        kill(victim)
        before = somebody.answers
        wait_until(lambda: somebody.answers > before + 20, 60, "answers on the same port")
    assert somebody.failed == []


def test_killing_valkey_stops_no_answer_and_loses_no_edit(service: Service) -> None:
    (victim,) = service.pids_of("valkey-server")
    with service.errata(retry=Retry(times=40, longest_pause_s=1)) as errata, asking(service) as somebody:
        first = errata.edit("Who wrote Hamlet?", "Kyd")
        kill(victim)
        second = errata.edit("Who wrote Hamlet?", "Marlowe")
        assert errata.ask("Who wrote Hamlet?").answer == "Marlowe"
        assert second.version == (first.version or 0) + 1
        assert [commit.version for commit in errata.log(limit=2).versions] == [second.version, first.version]
        errata.rollback((first.version or 1) - 1)
    assert somebody.failed == []
    assert service.pids_of("valkey-server") != [victim]


def test_an_edit_in_flight_when_valkey_dies_is_whole_or_not_there(service: Service) -> None:
    """Whatever the client gets, the question has its old or its new answer, and the log agrees."""
    with service.errata() as errata:
        start = errata.log().head
        (victim,) = service.pids_of("valkey-server")
        killer = threading.Timer(0.005, kill, [victim])
        killer.start()
        with suppress(errors.ErrataError):
            errata.edit("What is the capital of Japan?", "Kyoto")
        killer.join()
        service.wait_until_ready()
        answer = errata.ask("What is the capital of Japan?", min_version=None)
        n_versions = errata.log().head - start
        assert (answer.answer, n_versions) in [("Tokyo", 0), ("Kyoto", 1)]
        if n_versions:
            errata.rollback(start)


def _answers(errata: Errata, question: str) -> bool:
    try:
        return errata.ask(question, min_version=None).answer is not None
    except errors.Unavailable:
        return False


@pytest.fixture(autouse=True)
def _well_again(service: Service) -> Iterator[None]:
    """Wait until the service is whole, because the next test uses it too."""
    yield
    service.wait_until_ready()
