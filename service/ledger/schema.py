"""Which layout the data in Redis has, and how that of an older Errata becomes ours, before anything reads it.

Each step leads from one layout to the next and does no harm when it is done twice, as it is when the process dies in
it. Commits never change: theirs is a format of their own (commit.py), and every later Errata reads it.
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
FIRST = 1  # of data that has no number, which was written before there was one

log = logging.getLogger(__name__)


async def _from_1(connection: Connection) -> None:
    """Layout 2 let rows of old versions be dropped; nothing else is different."""


async def _from_2(connection: Connection) -> None:
    """Layout 3 drops none. What `keys.LEGACY_RESTORE` held of a restore moves to `keys.RESTORE`."""
    async with connection.call("move a note of a restore"):
        data = await connection.commands.get(keys.LEGACY_RESTORE) or b"{}"
        try:
            note = json.loads(data)
        except ValueError as error:
            detail = f"{keys.LEGACY_RESTORE} is not what was written; restore it from a backup"
            raise LedgerCorrupt(detail) from error
        if note.get("until"):
            await connection.commands.set(keys.RESTORE, note["until"])
    if note.get("oldest", 1) > 1:
        log.warning("rows of versions before %d were dropped: these cannot be asked", note["oldest"])


STEPS: Mapping[int, Step] = {1: _from_1, 2: _from_2}  # layout -> how it becomes the next one


async def migrate(connection: Connection, steps: Mapping[int, Step] = STEPS, current: int = CURRENT) -> None:
    """Brings the data to layout `current`, step by step.

    Raises:
        LedgerUnavailable: the data is of a newer Errata.
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
            log.warning("the data at %s has layout %d now", connection.address, layout + 1)
        async with connection.call("note its layout"):
            await connection.commands.set(keys.SCHEMA, layout + 1)
