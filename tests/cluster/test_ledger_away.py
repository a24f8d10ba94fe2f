"""While the ledger is frozen, answers go on and say so, and edits fail without a long wait; after it, all catch up."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import httpx
import pytest
from errata import Errata, errors

from tests.cluster.running import Service, kill, wait_until

PERU = "What is the capital of Peru?"
LIMIT_S = 60.0


@contextmanager
def frozen(service: Service) -> Iterator[None]:
    (pid,) = service.pids_of("valkey-server")
    kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        kill(pid, signal.SIGCONT)
        service.wait_until_ready()


def test_answers_go_on_and_say_that_they_may_be_old(
    service: Service, errata: Errata, http: httpx.Client
) -> None:
    version = errata.edit(PERU, "Cusco").version
    assert version is not None
    with frozen(service):
        wait_until(lambda: errata.ask(PERU).degraded == "ledger_unavailable", LIMIT_S, "an answer to say so")
        times_s = []
        for _ in range(5):
            start_s = time.monotonic()
            answer = errata.ask(PERU)
            assert (answer.answer, answer.version) == ("Cusco", version)
            assert errata.ask(PERU, version=version).answer == "Cusco"
            times_s.append(time.monotonic() - start_s)
        assert median(times_s) < 1, "an answer does not wait for the ledger"
        away = {
            "ready": True,
            "converged": False,
            "degraded": "ledger_unavailable",
            "version": None,
            "models": None,
        }
        wait_until(lambda: http.get("/readyz").json() == away, LIMIT_S, "it to be noticed")
        assert http.get("/v1/models").status_code == 200
    wait_until(lambda: errata.ask(PERU).degraded is None, LIMIT_S, "answers to be sure again")
    errata.revert(version)


def test_an_edit_is_refused_in_time_and_changes_nothing(service: Service, errata: Errata) -> None:
    head = errata.log().head
    with frozen(service):
        start_s = time.monotonic()
        with pytest.raises(errors.LedgerUnavailable):
            errata.edit(PERU, "Puno")
        assert time.monotonic() - start_s < 30
        assert errata.log(limit=1).head == head, "the log is read from memory meanwhile"
    assert errata.ask(PERU).answer == "Lima"
    assert errata.log().head == head


def test_a_version_nobody_can_confirm_is_not_guessed(service: Service, errata: Errata) -> None:
    head = errata.log().head
    with frozen(service), pytest.raises(errors.Unavailable):
        errata.ask(PERU, min_version=head + 1)
