"""When to keep a manifest: every so many commits, beside the work, so that replicas start quickly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from models.memory import Image
from service.editing.present import Present
from service.errors import LedgerUnavailable
from service.ledger.store import Ledger

log = logging.getLogger(__name__)


class Manifests:
    """One that could not be kept is tried again after the next commit."""

    def __init__(self, ledger: Ledger, every: int) -> None:
        self._ledger, self._every = ledger, every
        self._due = False
        self._task: asyncio.Task[None] | None = None

    def after(self, present: Present) -> None:
        self._due |= present.version % self._every == 0
        if self._due and (self._task is None or self._task.done()):
            images = {reading.system.memory: reading.image for reading in present.readings.values()}
            self._task = asyncio.create_task(self._keep(present.version, images))

    async def _keep(self, version: int, images: Mapping[str, Image]) -> None:
        self._due = False
        try:
            await self._ledger.put_image(version, images)
        except LedgerUnavailable as error:
            self._due = True
            log.warning("the manifest of version %d has to wait: %s", version, error.detail)
