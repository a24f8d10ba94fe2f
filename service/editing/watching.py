"""What only the editor sees, on the metrics page: the ledger, and the replicas of every model wherever they run.

Replicas of other machines write to other pages, and one that is gone writes to none; the ledger hears of all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence

from errata.wire import ReplicaState

from service.editing.acknowledge import living
from service.ledger.store import Ledger
from service.metrics import metrics

log = logging.getLogger(__name__)

EVERY_S = 2.0


async def watch(ledger: Ledger, expected: Mapping[str, int]) -> None:
    """For ever. expected: how many replicas each model should have. What was seen last stays while nothing is."""
    seen = True
    while True:
        try:
            head = await ledger.head()
            _publish(await living(ledger, head), head, expected)
            seen = True
        except Exception as error:  # whatever it is, the next look may succeed
            if seen:
                log.warning("the replicas cannot be counted: %s", error)
            seen = False
        metrics.LEDGER_UP.labels("editor").set(seen)
        await asyncio.sleep(EVERY_S)


def _publish(found: Sequence[ReplicaState], head: int, expected: Mapping[str, int]) -> None:
    metrics.LEDGER_VERSION.labels("errata").set(head)
    for model, count in expected.items():
        mine = [one for one in found if one.model == model]
        ready = [one for one in mine if one.healthy and one.version >= head]
        for state, how_many in {"expected": count, "live": len(mine), "ready": len(ready)}.items():
            metrics.REPLICAS.labels(model, state).set(how_many)
        metrics.DISAGREEING.labels(model).set(disagreeing(mine))


def disagreeing(replicas: Sequence[ReplicaState]) -> int:
    """How many hold other rows than most replicas of the same version do."""
    holders: dict[int, Counter[tuple[tuple[str, str], ...]]] = {}
    for one in replicas:
        holders.setdefault(one.version, Counter())[tuple(sorted(one.checksums.items()))] += 1
    return sum(counts.total() - max(counts.values()) for counts in holders.values())
