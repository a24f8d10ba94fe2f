"""The first minute of a newcomer, over real HTTP."""

from __future__ import annotations

import os
import stat

import httpx
import pytest
from errata import Errata, errors

from tests.cluster.running import Service, wait_until

PERU = "What is the capital of Peru?"
OTHER_WORDS = "Peru's capital city?"


def test_ask_correct_ask_again_and_take_it_back(errata: Errata) -> None:
    start = errata.log().head
    assert errata.ask(PERU).answer == "Lima"
    receipt = errata.edit(PERU, "Cusco", paraphrases=[OTHER_WORDS], message="try")
    assert receipt.version == start + 1
    assert receipt.all_applied
    assert len(receipt.replicas) == 2
    changed = errata.ask(OTHER_WORDS)
    assert (changed.answer, changed.version) == ("Cusco", start + 1)
    assert changed.edits == [receipt.report.edits[0].id]
    assert errata.ask(PERU, version=start).answer == "Lima"
    undone = errata.revert(start + 1)
    assert undone.version == start + 2
    assert errata.ask(PERU).answer == "Lima"
    assert errata.ask(PERU, version=start + 1).answer == "Cusco"


def test_an_answer_can_be_streamed(http: httpx.Client) -> None:
    reply = http.post("/v1/answers", json={"question": PERU, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n", 1) for block in reply.text.strip().split("\n\n")]
    assert [event for event, _ in events] == ["event: delta", "event: answer", "event: done"]
    assert '"Lima"' in events[0][1]
    assert '"Lima"' in events[1][1]


def test_models_memory_replicas_and_readiness_agree(errata: Errata, http: httpx.Client) -> None:
    (card,) = errata.models().data
    assert (card.id, card.memories[0].name, card.replicas, card.ready) == ("nkb", "toy/table", 2, True)
    memory, replicas = errata.memory(), errata.replicas()
    assert [replica.version for replica in replicas.replicas] == [memory.version] * 2
    assert [replica.checksums for replica in replicas.replicas] == [memory.checksums] * 2
    ready = {
        "ready": True,
        "converged": True,
        "degraded": None,
        "version": memory.version,
        "models": {"nkb": {"live": 2, "current": 2}},
    }
    wait_until(lambda: http.get("/readyz").json() == ready, 60, "all to be known")


def test_whoever_answers_has_the_priority_of_whoever_started_it(service: Service) -> None:
    """Ray would run each as a background job, which waits on a busy machine."""
    for name in ("nkb", "editor", "ingress"):
        for process in service.pids_of(f"ServeReplica:errata:{name}"):
            assert os.getpriority(os.PRIO_PROCESS, process) == os.getpriority(os.PRIO_PROCESS, 0)


def test_metrics_of_all_processes_are_on_one_page(errata: Errata, http: httpx.Client) -> None:
    errata.ask(PERU)
    page = http.get("/metrics").text
    for line in (
        'errata_answers_total{model="nkb",outcome="answered"}',
        'errata_http_requests_total{method="POST",route="/v1/answers",status="200"}',
        'errata_answer_seconds_bucket{le="0.005",model="nkb",part="queue"}',
        "errata_ledger_version",
        'errata_replica_lag{model="nkb"} 0.0',
    ):
        assert line in page
    foreign = [line for line in page.splitlines() if line and not line.startswith(("#", "errata_"))]
    assert foreign == []


def test_the_key_file_is_for_its_owner_alone(service: Service) -> None:
    assert stat.S_IMODE((service.var / "admin.key").stat().st_mode) == 0o600


def test_without_the_key_nothing_of_the_admin_can_be_read_or_changed(service: Service) -> None:
    with service.errata(key=None) as stranger:
        assert stranger.ask(PERU).answer
        for call in (lambda: stranger.log(), lambda: stranger.edit(PERU, "x"), lambda: stranger.whoami()):
            with pytest.raises(errors.Unauthorized):
                call()
