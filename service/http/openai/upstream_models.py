"""The models of upstreams as /v1/models lists them: by the names under which they are asked here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

from errata.wire import ModelCard
from fastapi import Request

from service.access.caller import ANONYMOUS
from service.errors import UpstreamFailed
from service.refreshing import Refreshing
from service.upstream.pool import Pool
from service.upstream.upstream import SEPARATOR, Upstream

FRESH_S, WAIT_S = 30.0, 2.0


class UpstreamModels:
    """Looks the models up at most every 30 s; those of an upstream that fails stay listed, and are not `ready`."""

    def __init__(self, upstreams: Mapping[str, Upstream], pool: Pool) -> None:
        self._upstreams, self._pool = upstreams, pool
        self._looks = {
            name: Refreshing(partial(self._read, upstream), FRESH_S) for name, upstream in upstreams.items()
        }

    async def list_cards(self, request: Request) -> list[ModelCard]:
        """Return a card for each model of each upstream that has ever answered, and that the caller may use."""
        looks = {
            name: look
            for name, look in self._looks.items()
            if self._upstreams[name].is_open or request.state.account.caller is not ANONYMOUS
        }
        for look in looks.values():
            look.start()
        for look in looks.values():
            await look.wait(WAIT_S)
        return [
            ModelCard(
                id=f"{upstream}{SEPARATOR}{model}",
                memories=[],
                methods=[],
                ready=look.error is None,
                replicas=0,
                details={"upstream": upstream},
            )
            for upstream, look in looks.items()
            for model in look.value or ()
        ]

    async def _read(self, upstream: Upstream) -> list[str]:
        _, data = await self._pool.fetch(upstream, "GET", "models")
        try:
            return [str(model["id"]) for model in json.loads(data)["data"]]
        except (ValueError, TypeError, LookupError) as error:
            raise UpstreamFailed(f"the upstream {upstream.name!r} lists no models") from error
