"""One file on its way into the graph: read as it arrives, spooled, counted; nothing of it is anywhere else yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic
from typing import Any

from errata.wire import ImportOrder

from models.graph.blocks import Manifest
from models.graph.view import GraphView
from service.graph.formats.reading import Reading
from service.graph.formats.row import Rejected, Row
from service.graph.intake import Intake
from service.graph.lookup import Lookup
from service.graph.naming import ambiguous


@dataclass
class Session:
    """One file on its way in. done, of: in the phase's own unit."""

    id: str
    order: ImportOrder
    author: str
    repetition: str | None
    version: int
    view: GraphView
    intake: Intake
    reading: Reading
    started: float = field(default_factory=monotonic)
    fed: float = field(default_factory=monotonic)
    bytes: int = 0
    phase: str = "reading"
    done: int = 0
    total: int | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    content: Any = field(default_factory=sha256)

    def take(self, rows: Iterable[Row | Rejected]) -> None:
        for row in rows:
            self.intake.objects_by_name = self.reading.format in ("tsv", "csv")
            self.intake.take(row)

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
            "left_out": dict(counts.left_out + self.reading.left_out),
            "listed": list(counts.listed),
            "seconds": round(monotonic() - self.started, 3),
        }


def among(lookup: Lookup, view: GraphView) -> Callable[[str], str | None]:
    """Which entity a name of several means at this version: asked from the reader's thread."""
    loop = asyncio.get_running_loop()

    def meant(name: str) -> str | None:
        named = (
            asyncio.run_coroutine_threadsafe(lookup.named(name, view), loop).result()
            if view.imports
            else lookup.told_names(name, view)
        )
        if len(named) > 1:
            raise ambiguous(name, named, "subject")
        return named[0].id if named else None

    return meant
