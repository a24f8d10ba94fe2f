"""One file on its way into the graph: read as it arrives, spooled, counted; nothing of it is anywhere else yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from time import monotonic
from typing import Any

from errata.wire import ImportOrder

from models.graph.blocks import Manifest
from models.graph.knowledge import Entity
from models.graph.view import GraphView
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import Rejected, Row
from service.graph.imports.row_resolver import RowResolver
from service.graph.lookup import Lookup

TOGETHER = 10_000  # rows


@dataclass
class Session:
    """One file on its way in. done, of: in the phase's own unit."""

    id: str
    order: ImportOrder
    author: str
    repetition: str | None
    version: int
    view: GraphView
    intake: RowResolver
    reading: GraphFileReader
    started: float = field(default_factory=monotonic)
    fed: float = field(default_factory=monotonic)
    bytes: int = 0
    phase: str = "reading"
    done: int = 0
    total: int | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    content: Any = field(default_factory=sha256)

    def take(self, rows: Iterable[Row | Rejected]) -> None:
        """Many together, so that their names are looked up together."""
        rows = iter(rows)
        while some := list(islice(rows, TOGETHER)):
            self.intake.objects_by_name = self.reading.format in ("tsv", "csv")
            self.intake.prefetch(some)
            for row in some:
                self.intake.add(row)

    def progress(self) -> dict[str, Any]:
        counts = self.intake.counts
        return {
            "phase": self.phase,
            "done": self.done,
            "total": self.total,
            "lines": self.reading.lines,
            "triples": counts.triples,
            "rejected": counts.rejected.total(),
        }

    def counts(self, manifest: Manifest, new: int) -> dict[str, Any]:
        """The wire's ImportCounts. new: how many entities the graph did not have."""
        counts = self.intake.counts
        return {
            "format": self.reading.format or "tsv",
            "lines": self.reading.lines,
            "triples": manifest.triples,
            "entities": manifest.entities,
            "new_entities": new,
            "rejected": counts.rejected.total(),
            "rejected_by": dict(counts.rejected),
            "skipped": dict(counts.left_out + self.reading.left_out),
            "rejected_lines": list(counts.listed),
            "seconds": round(monotonic() - self.started, 3),
            "source": self.order.source,
        }


def among(lookup: Lookup, view: GraphView) -> Callable[[Sequence[str]], dict[str, list[Entity]]]:
    """Which entities bear names at this version: asked from the reader's thread, for many names at once."""
    loop = asyncio.get_running_loop()

    def named(names: Sequence[str]) -> dict[str, list[Entity]]:
        return asyncio.run_coroutine_threadsafe(lookup.entities_by_name(names, view), loop).result()

    return named
