"""The layout of the data in Redis, and its migration from an older Errata before anything reads it.

Each step leads from one layout to the next and may run twice, as it does when the process dies in it. Commits never
change: they have their own format number (commit.py), and every later Errata reads it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger import keys
from service.ledger.redis.connection import Connection

Step: TypeAlias = Callable[[Connection], Awaitable[None]]

CURRENT = 3
FIRST = 1  # layout of data without a number, from before layouts were numbered

log = logging.getLogger(__name__)


async def _from_1(connection: Connection) -> None:
    """Leave the data unchanged: layout 2 only allowed rows of old versions to be dropped."""


async def _from_2(connection: Connection) -> None:
    """Move the note of a restore from `keys.LEGACY_RESTORE` to `keys.RESTORE`. Layout 3 drops no rows."""
    async with connection.call("move a note of a restore"):
        data = await connection.commands.get(keys.LEGACY_RESTORE) or b"{}"
        try:
            note = json.loads(data)
        except ValueError as error:
            detail = f"{keys.LEGACY_RESTORE} is not JSON, so it was altered; restore it from a backup"
            raise LedgerCorrupt(detail) from error
        if note.get("until"):
            await connection.commands.set(keys.RESTORE, note["until"])
    if note.get("oldest", 1) > 1:
        log.warning(
            "rows of versions before %d were dropped: questions cannot name these versions", note["oldest"]
        )


STEPS: Mapping[int, Step] = {1: _from_1, 2: _from_2}  # layout -> the step to the next


async def migrate(connection: Connection, steps: Mapping[int, Step] = STEPS, current: int = CURRENT) -> None:
    """Migrate the data to layout `current`, step by step.

    Raises:
        LedgerUnavailable: The data was written by a newer Errata.
    """
    async with connection.call("tell its layout"):
        data = await connection.commands.get(keys.SCHEMA)
        is_new = data is None and not await connection.commands.xlen(keys.LOG)
    number = FIRST if data is None else int(data)
    if number > current:
        detail = f"the data at {connection.address} has layout {number}, and this Errata knows layouts up to {current}"
        raise LedgerUnavailable(f"{detail}: start the newer one, or restore a backup elsewhere")
    for layout in range(number, current):
        await steps[layout](connection)
        if not is_new:
            log.warning("the data at %s was migrated to layout %d", connection.address, layout + 1)
        async with connection.call("note its layout"):
            await connection.commands.set(keys.SCHEMA, layout + 1)
