"""The ledger on a cluster: all our keys carry one hash tag, so one node has them all, and we talk to that node.

A client of that one node does whatever a client of a single server does, in one round trip: scripts,
transactions, blocking reads, INFO and TIME of the server that has the data. redis-py's RedisCluster (8.1) would
not: it starts a thread with an event loop of its own for each command put into a transaction, and ours stands
still meanwhile; it refuses a command where the pool is full, instead of waiting; it asks for the keys of an XREAD
before each; it sends TIME and INFO to any node. What is left for us is to know the node (cluster_view.py) and to go
with it (following.py); here is what a cluster's errors mean.

What a cluster promises: it answers first and copies to the replicas afterwards. An acknowledged commit is lost when
its master dies before the copy was sent, or when it was cut off from the others and is succeeded. WAIT and
min-replicas-to-write make that rare; nothing rules it out. A replica of ours that had read such a commit notices
that the ledger is behind it or has another one in its place, and says so. All of this holds of a master that
Sentinels watch as well.

While the slot is being moved by single keys (before Valkey 9), some calls fail until that is over.
"""

from __future__ import annotations

from redis.exceptions import AskError, ClusterDownError, MovedError, TryAgainError


def in_words(error: Exception) -> str:
    """What a cluster's error means to whoever runs it; any other error speaks for itself."""
    if isinstance(error, ClusterDownError):
        advice = "see CLUSTER INFO and CLUSTER NODES"
        return f"its cluster is in state fail, without a master for some slots or most masters ({error}): {advice}"
    if isinstance(error, MovedError):
        return "the nodes of its cluster do not agree yet which of them has the ledger"
    if isinstance(error, (AskError, TryAgainError)):
        return "its cluster is moving the ledger from one node to another"
    return str(error)
