"""Who has the ledger's slot, by the word of most nodes: after a failure the one that was asked last may not know."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from redis.crc import key_slot
from redis.exceptions import ClusterDownError, RedisError

from service.ledger import keys
from service.ledger.address import DEFAULT_PORT, Server
from service.ledger.following import Node
from service.ledger.polling import polled
from service.ledger.pool import Pool

SLOT = key_slot(keys.PREFIX.encode())
SHARE_OF_LIMIT = 0.4  # for asking, of the time that a call has: twice at worst, and the rest is for the call
ASKED = 7  # at once, of however many there are


@dataclass(frozen=True)
class View:
    """What one node says: who has our slot, and which nodes there are."""

    holder: Node | None
    nodes: tuple[Node, ...]

    @staticmethod
    def of(ranges: Sequence[Any], asked: Node) -> View:
        """ranges: reply to CLUSTER SLOTS, [first, last, [host, port, ...] of the master, those of replicas ...]."""
        holder, nodes = None, {}
        for first, last, *entries in ranges:
            found = [_node(entry, asked) for entry in entries]
            nodes.update(dict.fromkeys(found))
            if first <= SLOT <= last:
                holder = found[0]
        return View(holder, tuple(nodes))


class Nodes:
    """The nodes of a cluster. Those of the address are asked when no other answers, for all may have moved."""

    def __init__(self, servers: Sequence[Server], pool: Pool) -> None:
        self._servers, self._pool = servers, pool
        self._named = [(one.get("host", "localhost"), one.get("port", DEFAULT_PORT)) for one in servers]
        self._known: Collection[Node] = ()
        self._ask_s = pool.connect_s * SHARE_OF_LIMIT

    def server(self, node: Node) -> Server:
        return self._servers[0] | {"host": node[0], "port": node[1]}

    async def holder(self) -> Node:
        """ClusterDownError when there is none; or what went wrong when no node answers."""
        try:
            views = await self._views(self._known)
        except (RedisError, OSError):
            self._known = ()
            views = await self._views(self._named)
        [(holder, _)] = Counter(view.holder for view in views).most_common(1)
        if holder is None:
            raise ClusterDownError(f"no node has slot {SLOT}, the one of {keys.PREFIX[:-1]}")
        self._known = next(view.nodes for view in views if view.holder == holder)
        return holder

    async def _views(self, nodes: Collection[Node]) -> list[View]:
        nodes = random.sample(list(nodes), min(len(nodes), ASKED))
        return await polled([self._view(node) for node in nodes], self._ask_s, lambda view: view.holder)

    async def _view(self, node: Node) -> View:
        async with self._pool.asking(self.server(node)) as redis:
            return View.of(await redis.execute_command("CLUSTER SLOTS"), node)


def _node(entry: Sequence[Any], asked: Node) -> Node:
    """A node that does not know its own name, or is told to keep it, is where it was asked."""
    host = entry[0].decode() if entry[0] else ""
    return (asked[0] if host in ("", "?") else host), int(entry[1])
