"""Whether every deployment has caught up, from what the replicas last said of themselves."""

from __future__ import annotations

from collections.abc import Sequence

from errata.wire import ReplicaList, ReplicaState

from service.errors import LedgerUnavailable, NotReady
from service.http.callee import Callee
from service.http.models import Models
from service.replicas.outcome import Outcome

LIMIT_S = 5.0


async def readiness(models: Models, editor: Callee, wanted: int) -> dict[str, object]:
    """NotReady names what is missing. `wanted`: replicas of each model.

    Without the ledger nobody can catch up, and answers go on: ready, and degraded.
    """
    degraded = (await editor.call("ready", limit_s=LIMIT_S))["degraded"]
    if degraded not in (None, LedgerUnavailable.code):
        raise NotReady(f"nothing can be edited: {degraded}; the editor's log says more")
    found = await replicas(editor)
    if degraded is not None or found is None:
        await models.each("state", LIMIT_S)
        return {"ready": True, "degraded": LedgerUnavailable.code}
    missing = [why for name in models.names for why in _missing(name, found, wanted)]
    if missing:
        raise NotReady("; ".join(missing))
    return {"ready": True, "degraded": None, "version": found.head}


async def replicas(editor: Callee) -> ReplicaList | None:
    """Every replica as it last spoke. None while the ledger, where they meet, is away."""
    outcome: Outcome = await editor.call("replicas", limit_s=LIMIT_S)
    return ReplicaList.model_validate_json(outcome.body) if outcome.status < 400 else None


def of(model: str, found: ReplicaList) -> list[ReplicaState]:
    return [replica for replica in found.replicas if replica.model == model]


def _missing(model: str, found: ReplicaList, wanted: int) -> list[str]:
    replicas = of(model, found)
    here = [f"{len(replicas)} of {wanted} replicas of {model!r} are there"] if len(replicas) < wanted else []
    return here + _behind(replicas, found.head)


def _behind(replicas: Sequence[ReplicaState], head: int) -> list[str]:
    return [
        f"{one.replica} is at version {one.version} of {head}"
        if one.healthy
        else f"{one.replica} is not healthy"
        for one in replicas
        if one.version < head or not one.healthy
    ]
