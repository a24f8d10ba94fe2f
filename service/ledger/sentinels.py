"""Where the master is, by the word of most of the Sentinels that answer.

Their word is not enough: a master that was cut off and comes back takes itself for one for a moment. So what it is told
to be by others, it has to say of itself; and a commit that it took alone would be lost. See cluster.py.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from redis.exceptions import ConnectionError

from service.ledger.address import Server, Watched
from service.ledger.cluster_view import SHARE_OF_LIMIT
from service.ledger.following import Node
from service.ledger.polling import polled
from service.ledger.pool import Pool


class Sentinels:
    """Finds the master they watch."""

    def __init__(self, watched: Watched, pool: Pool) -> None:
        self._watched, self._pool = watched, pool
        self._ask_s = pool.connect_s * SHARE_OF_LIMIT

    def server(self, node: Node) -> Server:
        return self._watched.server | {"host": node[0], "port": node[1]}

    async def holder(self) -> Node:
        """ConnectionError when they know of none, or when it does not know of it."""
        asking = [self._told(server) for server in self._watched.sentinels]
        told = await polled(asking, self._ask_s, lambda node: node)
        [(node, _)] = Counter(told).most_common(1)
        if node is None:
            raise ConnectionError(f"its Sentinels watch no master {self._watched.name!r}")
        if (await self._said(self.server(node), "HELLO"))[b"role"] != b"master":
            raise ConnectionError(f"its Sentinels have not made a new master of {self._watched.name!r} yet")
        return node

    async def _told(self, sentinel: Server) -> Node | None:
        reply = await self._said(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._watched.name)
        return None if reply is None else (reply[0].decode(), int(reply[1]))

    async def _said(self, server: Server, *words: str) -> Any:
        async with self._pool.asking(server) as redis:
            return await redis.execute_command(*words)
