"""How the edits of the newest version stand, what room they leave and what the graph holds, on the metrics page."""

from __future__ import annotations

from collections.abc import Mapping

from models.graph.view import GraphView
from service.measuring.capacity import Room
from service.measuring.present import Present
from service.metrics import metrics


def publish(present: Present | None, version: int, counts: Mapping[str, int] | None, room: Room) -> None:
    """counts: of edits at `version`, by state. An older version than the present is of no interest."""
    if counts is None or present is None or present.version != version:
        return
    metrics.set_edit_states(counts)
    for reading in present.readings.values():
        taken = room.of([reading])
        limit = taken.slots_reserved if reading.capacity.slots_reserved is None else None  # else it has none
        metrics.set_memory_usage(
            reading.system.memory, taken.slots_used, limit, taken.rows_per_slot, taken.margin
        )
        if isinstance(reading.view, GraphView):
            _publish_graph(reading.view)


def _publish_graph(view: GraphView) -> None:
    said = [one for pairs in view.edits.values() for _, one in pairs]
    files = [one.manifest for one in view.imports]
    _hold("base", sum(map(len, view.base.statements.values())), len(view.base.statements))
    _hold("imports", sum(one.triples for one in files), sum(one.entities for one in files))
    _hold("edits", sum(len(one.statements) for one in said), len(view.edits))


def _hold(source: str, statements: int, entities: int) -> None:
    metrics.GRAPH_STATEMENTS.labels(source).set(statements)
    metrics.GRAPH_ENTITIES.labels(source).set(entities)
