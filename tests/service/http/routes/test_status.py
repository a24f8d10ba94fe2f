"""The state of the service: models and replicas, and the routes for load balancers and Prometheus."""

import asyncio
import os
import socket
import threading
from typing import Any

import httpx
import pytest
from errata.wire import ReplicaList, ReplicaState
from fastapi import FastAPI

from service.editing.operations import ListReplicas
from service.errors import LedgerUnavailable, NotReady
from service.http import descriptions
from service.http.routes import discovery, status
from service.http.routes.status import FRESH_S, Readiness
from service.ledger.store import RedisLedger
from service.outcome import Outcome
from tests.service.http.conftest import SHARED_LOOP, client_of, local_editor, local_router
from tests.service.parts import PATIENCE_S, run_ready, wait_until


class Part:
    """A model that describes itself, and an editor that lists these replicas. None: the ledger is away."""

    def __init__(self, healthy: list[bool] | None) -> None:
        self._healthy = healthy

    async def describe(self) -> dict[str, Any]:
        return {"memories": [], "methods": ["gated"], "details": {}}

    async def call(self, call: ListReplicas) -> Outcome:
        if self._healthy is None:
            return Outcome.of(LedgerUnavailable("the ledger is away"), None)
        replicas = [
            ReplicaState(
                replica="toy-a", model="toy", version=0, checksums={}, lag=0, healthy=healthy, seen_s_ago=0.1
            )
            for healthy in self._healthy
        ]
        return Outcome.ok(ReplicaList(head=0, replicas=replicas))


@pytest.mark.parametrize(
    ("healthy", "ready", "replicas"),
    [
        ([True, True], True, 2),
        ([False, True], True, 2),
        ([False, False], False, 2),
        ([], False, 0),
        (None, True, 1),
    ],
)
async def test_a_model_is_ready_when_a_replica_of_it_is_healthy(
    healthy: list[bool] | None, ready: bool, replicas: int
) -> None:
    part, app = Part(healthy), FastAPI()
    app.include_router(status.build_router(local_router({"toy": part}), local_editor(part)))
    async with client_of(app) as client:
        (card,) = (await client.get("/v1/models")).json()["data"]
    assert (card["ready"], card["replicas"]) == (ready, replicas)


class Absent:
    """A model or an editor that is being started again; a hanging one answers nothing at all."""

    def __init__(self, hangs: bool = False) -> None:
        self.hangs = hangs

    async def describe(self) -> dict[str, Any]:
        if self.hangs:
            await asyncio.Event().wait()
        raise NotReady("it is being started again")

    async def call(self, call: ListReplicas) -> Outcome:
        raise NotReady("it is being started again")


async def test_models_are_listed_while_one_of_them_and_the_editor_are_away() -> None:
    app = FastAPI()
    models = local_router({"toy": Part([True]), "absent": Absent()})
    app.include_router(status.build_router(models, local_editor(Absent())))
    async with client_of(app) as client:
        cards = (await client.get("/v1/models")).raise_for_status().json()["data"]
        absent = (await client.get("/v1/models/absent")).raise_for_status().json()
    assert {card["id"]: card["ready"] for card in cards} == {"toy": True, "absent": False, "auto": True}
    assert (absent["ready"], absent["memories"]) == (False, [])


async def test_a_model_that_goes_away_keeps_its_description(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "PAUSE_S", 0.0)
    part = Part([True])
    store = local_router({"toy": part}).descriptions
    before = await store.find("toy")
    assert (before and before["methods"], store.answers("toy")) == (["gated"], True)
    monkeypatch.setattr(part, "describe", Absent().describe)
    await store.find("toy")
    await run_ready()
    assert (await store.find("toy"), store.answers("toy")) == (before, False)


async def test_a_model_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "FIRST_WAIT_S", 0.5)
    store = local_router({"absent": Absent(hangs=True)}).descriptions
    loop = asyncio.get_running_loop()
    start = loop.time()
    assert await store.find("absent") is None
    assert loop.time() - start >= 0.5
    start = loop.time()
    for _ in range(10):
        assert await store.find("absent") is None
    assert loop.time() - start < 0.5


async def test_a_model_counts_the_questions_of_its_ingress_by_outcome(http: httpx.AsyncClient) -> None:
    async def count() -> dict[str, int]:
        return dict((await http.get("/v1/models/toy")).json()["answers"])

    before = await count()
    for question in ("What is the capital of Peru?", "Who owns the barn?", "Who owns the mill?"):
        await http.post("/v1/answers", json={"question": question})
    after = await count()
    assert [after.get(name, 0) - before.get(name, 0) for name in ("answered", "declined")] == [1, 2]


async def test_the_list_of_replicas_says_what_is_wrong_and_where(
    http: httpx.AsyncClient, ledger: RedisLedger
) -> None:
    ill = {"version": 0, "healthy": False, "degraded": "ledger_corrupt", "host": "errata-worker-b", "pid": 7}
    await ledger.heartbeat("toy-z", {"model": "toy", "checksums": {}, **ill})
    replicas = ReplicaList.model_validate_json((await http.get("/admin/replicas")).content).replicas
    assert [(replica.healthy, replica.degraded, replica.host, replica.pid) for replica in replicas] == [
        (True, None, socket.gethostname(), os.getpid()),
        (False, "ledger_corrupt", "errata-worker-b", 7),
    ]


async def test_of_many_who_look_at_once_one_renders_the_metrics_in_a_thread() -> None:
    threads: list[threading.Thread] = []
    gate = threading.Event()

    def render() -> bytes:
        threads.append(threading.current_thread())
        gate.wait(PATIENCE_S)
        return b"errata_answers_total 1.0\n"

    app = FastAPI()
    app.include_router(status.build_probe_router(Readiness(local_router({}), local_editor(None), 1), render))
    async with client_of(app) as client:
        looks = [asyncio.create_task(client.get("/metrics")) for _ in range(10)]
        await wait_until(lambda: bool(threads))
        gate.set()
        assert {(await look).content for look in looks} == {b"errata_answers_total 1.0\n"}
        assert len(threads) == 1
        for _ in range(20):
            await client.get("/metrics")
        assert len(threads) == 1, "nor does anybody who comes within a second"
        await asyncio.sleep(FRESH_S)
        await client.get("/metrics")
        assert len(threads) == 2, "and the next one sees what is new"
    assert threading.main_thread() not in threads


async def test_many_who_look_for_machines_cost_one_look_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    n_looks = 0

    def list_nodes() -> list[dict[str, Any]]:
        nonlocal n_looks
        n_looks += 1
        return [{"Alive": True, "NodeManagerAddress": "127.0.0.1", "MetricsExportPort": 9}]

    monkeypatch.setattr(discovery.ray, "nodes", list_nodes)
    app = FastAPI()
    app.include_router(discovery.build_discovery_router(9, "http"))
    async with client_of(app) as client:
        for _ in range(5):
            replies = await asyncio.gather(*(client.get("/discovery/ray") for _ in range(20)))
            assert {reply.text for reply in replies} == {'[{"targets":["127.0.0.1:9"],"labels":{}}]'}
            await asyncio.gather(*(client.get("/discovery/service") for _ in range(20)))
    assert n_looks == 2, "one for each page"


@SHARED_LOOP
async def test_a_route_without_parameters_takes_none(shared_http: httpx.AsyncClient) -> None:
    assert (await shared_http.get("/v1/memory")).status_code == 200
    reply = await shared_http.get("/v1/memory?version=1")
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_input")
    assert "leave out 'version=1'" in reply.json()["detail"]
