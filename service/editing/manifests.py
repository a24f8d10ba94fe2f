"""When to keep a manifest: every so many commits, beside the work, so that replicas start quickly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from models.memory import Image
from service.errors import LedgerUnavailable
from service.ledger.store import Ledger
from service.measuring.present import Present

log = logging.getLogger(__name__)


class Manifests:
    """One that could not be kept is tried again after the next commit, and so is one that a kill cut short."""

    def __init__(self, ledger: Ledger, every: int) -> None:
        self._ledger, self._every = ledger, every
        self._kept = 0  # the version of the last one; what an earlier process kept is not asked for
        self._task: asyncio.Task[None] | None = None

    def after(self, present: Present) -> None:
        due = present.version - self._kept >= self._every
        if due and (self._task is None or self._task.done()):
            images = {reading.system.memory: reading.image for reading in present.readings.values()}
            self._task = asyncio.create_task(self._keep(present.version, images))

    async def _keep(self, version: int, images: Mapping[str, Image]) -> None:
        try:
            await self._ledger.put_manifest(version, images)
            self._kept = version
        except LedgerUnavailable as error:
            log.warning("the manifest of version %d has to wait: %s", version, error.detail)
