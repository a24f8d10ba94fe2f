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
from service.ledger.connection import Connection

Step: TypeAlias = Callable[[Connection], Awaitable[None]]

CURRENT = 3
FIRST = 1  # of data that has no number, which was written before there was one


log = logging.getLogger(__name__)


async def _nothing(connection: Connection) -> None:
    """Layout 2 let rows of old versions be dropped."""


async def _restore_has_its_key(connection: Connection) -> None:
    """Layout 3 drops none, and says in `keys.RESTORE` what `keys.KEPT` said beside that."""
    async with connection.bounded("move a note of a restore"):
        data = await connection.commands.get(keys.KEPT) or b"{}"
        try:
            kept = json.loads(data)
        except ValueError as error:
            detail = f"{keys.KEPT} is not what was written; restore it from a backup"
            raise LedgerCorrupt(detail) from error
        if kept.get("until"):
            await connection.commands.set(keys.RESTORE, kept["until"])
    if kept.get("oldest", 1) > 1:
        log.warning("rows of versions before %d were dropped: these cannot be asked", kept["oldest"])


STEPS: Mapping[int, Step] = {1: _nothing, 2: _restore_has_its_key}  # layout -> how it becomes the next one


async def bring_up(connection: Connection, steps: Mapping[int, Step] = STEPS, current: int = CURRENT) -> None:
    """LedgerUnavailable when the data is of a newer Errata."""
    found = await _number(connection)
    if found is not None and found > current:
        detail = f"the data at {connection.address} has layout {found}, and this Errata knows layouts up to {current}"
        raise LedgerUnavailable(f"{detail}: start the newer one, or restore a backup elsewhere")
    number, fresh = found or FIRST, found is None and await _is_empty(connection)
    while number < current:
        await steps[number](connection)
        number += 1
        if not fresh:
            log.warning("the data at %s has layout %d now", connection.address, number)
        await _write(connection, number)
    if found is None:
        await _write(connection, number)


async def _number(connection: Connection) -> int | None:
    async with connection.bounded("tell its layout"):
        found: bytes | None = await connection.commands.get(keys.SCHEMA)
    return None if found is None else int(found)


async def _is_empty(connection: Connection) -> bool:
    async with connection.bounded("tell its length"):
        return not await connection.commands.xlen(keys.LOG)


async def _write(connection: Connection, number: int) -> None:
    async with connection.bounded("note its layout"):
        await connection.commands.set(keys.SCHEMA, number)
