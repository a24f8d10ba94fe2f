"""What each model says of itself: its memories, methods and inputs, as a replica of it described them last.

A model that is down keeps its last description, and costs a caller no wait: the next look begins in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from service.http.deployment_client import ModelClient
from service.refreshing import Refreshing

PAUSE_S = 5.0  # seconds between the end of a look and the next one, also after a failed one
FIRST_WAIT_S = 1.0  # time that callers wait together for the first description of a model

Description = Mapping[str, Any]


class Descriptions:
    """The last description of each model."""

    def __init__(self, clients: Mapping[str, ModelClient]) -> None:
        self._looks = {
            name: Refreshing[Description](client.describe, PAUSE_S) for name, client in clients.items()
        }

    def start(self) -> None:
        """Begin a look at each model whose last look has ended a while ago."""
        for look in self._looks.values():
            look.start()

    async def find(self, model: str) -> Description | None:
        """Return the last description of a model; None for one that has never given any."""
        look = self._looks[model]
        look.start()
        if look.value is None:
            await look.wait(FIRST_WAIT_S)
        return look.value

    async def find_all(self) -> dict[str, Description | None]:
        """Return the last description of every model."""
        return dict(zip(self._looks, await asyncio.gather(*map(self.find, self._looks)), strict=True))

    def answers(self, model: str) -> bool:
        """Return whether the last look at a model succeeded."""
        return self._looks[model].value is not None and self._looks[model].error is None
