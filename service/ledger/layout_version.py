"""The number of the layout of a ledger's data, checked before anything depends on it.

Commits have their own format number (commit.py), which every later Errata reads.
"""

from __future__ import annotations

from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.connection import Connection

LAYOUT = 3


async def check_layout(connection: Connection) -> None:
    """Note our layout where none is noted.

    Raises:
        LedgerUnavailable: The data was written by an Errata with another layout.
    """
    async with connection.call("tell its layout"):
        await connection.commands.set(keys.SCHEMA, LAYOUT, nx=True)
        number = int(await connection.commands.get(keys.SCHEMA))
    if number != LAYOUT:
        detail = (
            f"the data at {connection.address} has layout {number}, and this Errata reads layout {LAYOUT}"
        )
        age = "newer" if number > LAYOUT else "older"
        raise LedgerUnavailable(f"{detail}: start the {age} one, or restore its backup elsewhere")
