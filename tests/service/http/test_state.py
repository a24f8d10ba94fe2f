"""What the service says of its models is what their replicas say of themselves."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from errata.wire import ReplicaList, ReplicaState
from fastapi import FastAPI

from service.errors import LedgerUnavailable
from service.http import state
from service.http.models import Models
from service.replicas.outcome import Outcome

DESCRIBED = {"memory": "toy/table", "methods": ["gated"], "details": {}}


class Part:
    """A model that describes itself, and an editor that lists these replicas; None: the ledger is away."""

    def __init__(self, healthy: list[bool] | None) -> None:
        self._healthy = healthy

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        if method == "describe":
            return DESCRIBED
        assert method == "replicas"
        if self._healthy is None:
            return Outcome.of(LedgerUnavailable("the ledger is away"), None)
        return Outcome.ok(ReplicaList(head=0, replicas=[_replica(healthy) for healthy in self._healthy]))


def _replica(healthy: bool) -> ReplicaState:
    return ReplicaState(
        replica="toy-a", model="toy", version=0, checksums={}, lag=0, healthy=healthy, seen_s_ago=0.1
    )


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
async def test_a_model_is_ready_when_a_replica_of_it_is_well(
    healthy: list[bool] | None, ready: bool, replicas: int
) -> None:
    part, app = Part(healthy), FastAPI()
    app.include_router(state.routes(Models({"toy": part}, 1), part))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://errata") as client:
        (card,) = (await client.get("/v1/models")).json()["data"]
    assert (card["ready"], card["replicas"]) == (ready, replicas)
