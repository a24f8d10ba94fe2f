"""Where the `limits` library counts for all processes together: over the ledger's own connection, so that one server,
a cluster, TLS and time limits are the same for both.
"""

from __future__ import annotations

from limits.aio.storage import RedisStorage

from service.ledger.keys import PREFIX
from service.ledger.redis.connection import Connection

LIMITS = PREFIX + "limit"


class SharedCounts(RedisStorage):
    """Never connects by itself: the address that the library wants is nobody's."""

    def __init__(self, connection: Connection) -> None:
        super().__init__("async+redis://nobody:0", implementation="redispy", key_prefix=LIMITS)
        self.bridge.connection_getter = lambda readonly: connection.commands  # type: ignore[attr-defined]
        self.bridge.register_scripts()
