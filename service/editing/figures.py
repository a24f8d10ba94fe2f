"""The editor's metrics: seconds of a commit's parts, commits by outcome, edits by status, memories and the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

from errata.wire import EditTimings

from models.graph.view import GraphView
from service.editing.draft import EditorState
from service.editing.evaluation.slot_budget import SlotBudget
from service.errors import Crashed, Internal, LedgerCorrupt, LedgerUnavailable, NotReady
from service.metrics import metrics
from service.tracing import span

Part = Literal["editor", "report", "commit", "replicas"]
PARTS: tuple[Part, ...] = ("editor", "report", "commit", "replicas")

KINDS = ("edit", "revert", "rollback", "import")
REPETITION = "repeated"  # outcome of a request whose Idempotency-Key has made a commit already
CANCELLED = "cancelled"  # outcome of a request that the caller or Ray cancelled
FAILURES = (
    *(error.code for error in (Internal, Crashed, NotReady, LedgerUnavailable, LedgerCorrupt)),
    CANCELLED,
)


class Timings:
    def __init__(self) -> None:
        self._seconds: dict[Part, float] = defaultdict(float)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        start = perf_counter()
        try:
            with span(name):
                yield
        finally:
            self._seconds[name] += perf_counter() - start

    def to_wire(self) -> EditTimings:
        return EditTimings(**{f"{part}_ms": round(1e3 * self._seconds[part], 3) for part in PARTS})

    def publish(self) -> None:
        for part, seconds in self._seconds.items():
            metrics.COMMIT_PARTS.labels(part).observe(seconds)


def create_series() -> None:
    metrics.begin_at_zero(metrics.EDITS, KINDS, ("committed", REPETITION, *FAILURES))
    metrics.begin_at_zero(metrics.COMMIT_PARTS, PARTS)
    metrics.begin_at_zero(metrics.REDIS_FAILURES, ["editor"])


def publish(
    state: EditorState | None, version: int, counts: Mapping[str, int] | None, budget: SlotBudget
) -> None:
    """Publish the counts of edits by status and how full memories are, if `version` is the newest."""
    if counts is None or state is None or state.version != version:
        return
    metrics.set_edit_states(counts)
    for name, memory in state.memories.items():
        capacity = budget.describe([memory])
        # otherwise the memory has no limit
        limit = capacity.slots_reserved if memory.usage.slots_reserved is None else None
        metrics.set_memory_usage(name, capacity.slots_used, limit)
        if not isinstance(memory.view, GraphView):
            continue
        view, manifests = memory.view, [active.manifest for active in memory.view.imports]
        n_edit_statements = sum(
            len(source.statements) for pairs in view.edits.values() for _, source in pairs
        )
        sizes = {
            "base": (sum(map(len, view.base.statements.values())), len(view.base.statements)),
            "imports": (sum(m.triples for m in manifests), sum(m.entities for m in manifests)),
            "edits": (n_edit_statements, len(view.edits)),
        }
        for source, (n_statements, n_entities) in sizes.items():
            metrics.GRAPH_STATEMENTS.labels(source).set(n_statements)
            metrics.GRAPH_ENTITIES.labels(source).set(n_entities)
