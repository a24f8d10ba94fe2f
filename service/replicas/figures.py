"""The figures of a replica that are there before anything has happened.

Prometheus sees no increase where a series begins with its first event, and a failure may be the first of its kind.
"""

from __future__ import annotations

from service.metrics import metrics


def begin_at_zero(model: str, reads_graph: bool) -> None:
    for part in ("queue", "model", "total"):
        metrics.ANSWER_PARTS.labels(model, part)
    metrics.BATCH.labels(model)
    metrics.QUEUE.labels(model, "replica")
    metrics.PROPAGATION.labels(model)
    metrics.REDIS_FAILURES.labels("replica")
    if reads_graph:
        metrics.FACTS.labels(model)
        for part in ("link", "read"):
            metrics.GRAPH_PARTS.labels(model, part)
