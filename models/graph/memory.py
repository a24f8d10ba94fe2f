"""The graph as an editable memory: `graph/triples`, made of the statements of edits and the manifests of imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

from models.blocks import Block, Image, block_key
from models.graph.base import Base
from models.graph.blocks import (
    IMPORT,
    STATEMENTS,
    EntityStatements,
    read_manifest,
    read_statements,
    statements_block,
)
from models.graph.in_edges import InEdge, find_in_edges
from models.graph.statement import LABEL, SourceStatements, fold
from models.graph.view import ActiveImport, EditsInOrder, GraphView
from models.kit.material import UnionMemory
from models.memory import ChangeKind, Material, Usage
from models.packs.pack import WORLD

GRAPH = "graph/triples"
TRIPLE = "triple"  # method of an edit that writes statements


@dataclass(frozen=True)
class TripleChange:
    """Statements of an edit about entities of the graph, with its names resolved to ids."""

    kind: ClassVar[ChangeKind] = "triple"

    id: str
    statements: EntityStatements


class GraphMemory(UnionMemory):
    """The graph as a memory, one for each process. A view is built from the last view, so small commits are cheap."""

    name = GRAPH
    accepts: frozenset[ChangeKind] = frozenset({"triple"})

    def __init__(self, base: Base) -> None:
        self._base = base
        self._last: tuple[Image, GraphView] = (self.base, GraphView(base))

    @staticmethod
    def of(folder: Path = WORLD) -> GraphMemory:
        return GraphMemory(Base.of(folder))

    @cached_property
    def base(self) -> Image:
        return Image(self._base.digest)

    def make(self, change: TripleChange) -> Material:
        """Write the statements of a change; an entity is folded from all of them when it is read."""
        return Material(change.id, TRIPLE, statements_block(block_key(change.id), 0, change.statements))

    def view(self, image: Image) -> GraphView:
        last_image, view = self._last
        delta = last_image.delta_to(image)
        if delta:
            keys = (*delta.removes, *(block.key for block in delta.puts))
            view = _follow(
                view, [last_image.blocks[key] for key in keys if key in last_image.blocks], delta.puts
            )
        self._last = (image, view)
        return view

    def usage(self, image: Image) -> Usage:
        """Count the edits as slots; the graph reserves none."""
        return Usage(len(image.blocks), len(image.blocks))


@lru_cache(1)  # every system of a process reads the same object, and its views are built once
def graph_memory(folder: Path = WORLD) -> GraphMemory:
    """Return the graph of a pack as a memory. PackError: the pack is damaged."""
    return GraphMemory.of(folder)


def _follow(view: GraphView, old_blocks: Sequence[Block], new_blocks: Sequence[Block]) -> GraphView:
    """Return the view that follows another when some of its blocks go and others come."""
    removals = {block.edit for block in old_blocks}
    imports = [active for active in view.imports if active.edit not in removals]
    changed: dict[str, list[tuple[int, SourceStatements]]] = {
        subject: [pair for pair in view.edits[subject] if pair[1].edit not in removals]
        for block in old_blocks
        if block.kind == STATEMENTS
        for subject in read_statements(block)
    }
    for block in new_blocks:
        if block.kind == IMPORT:
            imports.append(ActiveImport(block.order, block.edit, read_manifest(block)))
            continue
        for subject, statements in read_statements(block).items():
            pairs = changed.setdefault(subject, list(view.edits.get(subject, ())))
            pairs.append((block.order, SourceStatements(block.edit, statements)))
    edits = dict(view.edits)
    for subject, pairs in changed.items():
        edits[subject] = tuple(sorted(pairs, key=lambda pair: pair[0]))
        if not pairs:
            del edits[subject]
    imports.sort(key=lambda active: active.order)
    new_labels, in_edges = _new_labels(view, edits, changed), _new_in_edges(view, edits, changed)
    return GraphView(view.base, edits, tuple(imports), new_labels, in_edges)


def _new_in_edges(
    view: GraphView, edits: Mapping[str, EditsInOrder], subjects: Iterable[str]
) -> Mapping[str, tuple[InEdge, ...]]:
    """Return the edges that edits gave, by their objects, with those of the changed `subjects` found again."""
    edges = dict(view.in_edges_of_edits)
    for subject in subjects:
        for object_id, edge in _edges_of(subject, view.edits):
            if rest := tuple(other for other in edges.get(object_id, ()) if other != edge):
                edges[object_id] = rest
            else:
                edges.pop(object_id, None)
        for object_id, edge in _edges_of(subject, edits):
            edges[object_id] = tuple(
                sorted({edge, *edges.get(object_id, ())})
            )  # the same edges, whichever view this follows
    return edges


def _edges_of(subject: str, edits: Mapping[str, EditsInOrder]) -> dict[tuple[str, InEdge], None]:
    """Return the edges that edits gave a subject, each once."""
    sources = (source.statements for _, source in edits.get(subject, ()))
    return dict.fromkeys(pair for statements in sources for pair in find_in_edges(subject, statements))


def _new_labels(
    view: GraphView, edits: Mapping[str, EditsInOrder], subjects: Iterable[str]
) -> Mapping[str, str]:
    """Return the labels that edits gave entities, with those of the changed `subjects` read again.

    A default is no newer label: it is what the entity was called already.
    """
    new_labels = dict(view.new_labels)
    for subject in subjects:
        sources = (
            SourceStatements(source.edit, tuple(s for s in source.statements if s.act != "default"))
            for _, source in edits.get(subject, ())
        )
        labels = fold(sources).get(LABEL)
        if labels:
            new_labels[subject] = next(reversed(labels.values())).object
        else:
            new_labels.pop(subject, None)
    return new_labels
