"""The ledger on a cluster: all keys carry one hash tag, so one node has them all, and calls go to that node.

A client of that one node works like a client of a single server, in one round trip: scripts, transactions, blocking
reads, INFO and TIME of the server that has the data. redis-py's RedisCluster (8.1) does not: it starts a thread with
an event loop for each command of a transaction, which blocks ours meanwhile; it refuses a command if the pool is
full, instead of waiting; it asks for the keys of an XREAD before each; it sends TIME and INFO to any node. This
module finds the node, by the vote of most nodes (after a failure a single node may not know), and failover.py follows
it.

A cluster answers first and copies to the replicas afterwards. An acknowledged commit is lost if its master dies
before the copy was sent, or if it was cut off from the others and is succeeded. WAIT and min-replicas-to-write make
that rare, but cannot rule it out. A replica that had read such a commit notices that the ledger is behind it or has
another commit in its place, and says so. The same holds for a master that Sentinels watch.

While the slot is being moved by single keys (before Valkey 9), some calls fail until the move is complete.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError, TryAgainError

from service.ledger import keys
from service.ledger.redis.address import DEFAULT_PORT, ServerSettings
from service.ledger.redis.failover import Node, ask_quorum
from service.ledger.redis.pool import Pool

SLOT = key_slot(keys.PREFIX.encode())
MAX_VOTERS = 7  # nodes that are asked at once


@dataclass(frozen=True)
class View:
    """One node's reply: the holder of our slot, and all nodes."""

    holder: Node | None
    nodes: tuple[Node, ...]

    @staticmethod
    def parse(ranges: Sequence[Any], voter: Node) -> View:
        """Parse the reply to CLUSTER SLOTS: [first, last, [host, port, ...] of the master, those of replicas ...].

        A node that does not know its own name, or is configured to hide it, has the host of `voter`.
        """
        holder, nodes = None, dict[Node, None]()
        for first, last, *entries in ranges:
            hosts = [(entry[0].decode() if entry[0] else "", int(entry[1])) for entry in entries]
            members = [(voter[0] if host in ("", "?") else host, port) for host, port in hosts]
            nodes.update(dict.fromkeys(members))
            if first <= SLOT <= last:
                holder = members[0]
        return View(holder, tuple(nodes))


class ClusterLocator:
    """Asks the last known nodes, or those of the address if none of them answers, for all may have moved."""

    def __init__(self, servers: Sequence[ServerSettings], pool: Pool) -> None:
        self._servers, self._pool = servers, pool
        self._nodes: Collection[Node] = ()

    def settings(self, node: Node) -> ServerSettings:
        return self._servers[0] | {"host": node[0], "port": node[1]}

    async def locate(self) -> Node:
        """Find the node that holds the slot.

        Raises:
            ClusterDownError: No node holds it.
            RedisError, OSError: No node answers.
        """
        try:
            views = await self._views(self._nodes)
        except (RedisError, OSError):
            self._nodes = ()
            address = [(s.get("host", "localhost"), s.get("port", DEFAULT_PORT)) for s in self._servers]
            views = await self._views(address)
        [(holder, _)] = Counter(view.holder for view in views).most_common(1)
        if holder is None:
            raise ClusterDownError(f"no node has slot {SLOT} of {keys.PREFIX[:-1]}")
        self._nodes = next(view.nodes for view in views if view.holder == holder)
        return holder

    async def _views(self, nodes: Collection[Node]) -> list[View]:
        voters = random.sample(list(nodes), min(len(nodes), MAX_VOTERS))
        requests = [self._view(node) for node in voters]
        return await ask_quorum(requests, self._pool, lambda view: view.holder)

    async def _view(self, node: Node) -> View:
        return View.parse(await self._pool.ask(self.settings(node), "CLUSTER SLOTS"), node)


def describe_error(error: Exception) -> str:
    """Explain a cluster's error to its operator; any other error keeps its own text."""
    if isinstance(error, ClusterDownError):
        advice = "see CLUSTER INFO and CLUSTER NODES"
        return f"its cluster is in state fail, without a master for some slots or most masters ({error}): {advice}"
    if isinstance(error, MovedError):
        return "the nodes of its cluster do not agree yet which of them has the ledger"
    if isinstance(error, (AskError, TryAgainError)):
        return "its cluster is moving the ledger from one node to another"
    return str(error)
