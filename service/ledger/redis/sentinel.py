"""The master, found by the vote of most of the Sentinels that answer.

Their vote is not enough: for a moment after its return, a master that was cut off still has the role of master. So
the role is asked as well; a commit that such a master accepts would be lost. See cluster.py.
"""

from __future__ import annotations

from collections import Counter

from redis.exceptions import ConnectionError

from service.ledger.redis.address import SentinelAddress, ServerSettings
from service.ledger.redis.failover import Node, ask_quorum
from service.ledger.redis.pool import Pool


class SentinelLocator:
    def __init__(self, address: SentinelAddress, pool: Pool) -> None:
        self._address, self._pool = address, pool

    def settings(self, node: Node) -> ServerSettings:
        return self._address.master | {"host": node[0], "port": node[1]}

    async def locate(self) -> Node:
        """Find the master.

        Raises:
            ConnectionError: The Sentinels know no master, or the server they name has another role.
        """
        name = self._address.master_name

        async def ask_master(sentinel: ServerSettings) -> Node | None:
            reply = await self._pool.ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
            return None if reply is None else (reply[0].decode(), int(reply[1]))

        requests = [ask_master(sentinel) for sentinel in self._address.sentinels]
        replies = await ask_quorum(requests, self._pool, lambda node: node)
        [(node, _)] = Counter(replies).most_common(1)
        if node is None:
            raise ConnectionError(f"its Sentinels watch no master {name!r}")
        if (await self._pool.ask(self.settings(node), "HELLO"))[b"role"] != b"master":
            raise ConnectionError(f"its Sentinels have not made a new master of {name!r} yet")
        return node
