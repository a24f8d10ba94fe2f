"""Which systems read the graph, and the look-up that puts what it says into their questions."""

from __future__ import annotations

from collections.abc import Iterable

from models.system import System
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger.redis.connection import Connection


def find_informer(systems: Iterable[System], connection: Connection) -> Lookup | None:
    """Return what adds the graph to questions; None if none of the systems reads it."""
    reads_graph = any(Lookup.memory in system.memories for system in systems)
    return Lookup(Rows(connection)) if reads_graph else None
