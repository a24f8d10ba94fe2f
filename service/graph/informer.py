"""The look-up that adds facts of the graph to questions, if a system reads the graph."""

from __future__ import annotations

from collections.abc import Iterable

from models.system import System
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger.redis.connection import Connection


def find_informer(systems: Iterable[System], connection: Connection) -> Lookup | None:
    """Return the look-up that adds the graph to questions; None if none of the systems reads it."""
    reads_graph = any(Lookup.memory in system.memories for system in systems)
    return Lookup(Rows(connection)) if reads_graph else None
