"""The graph as an editable memory: `graph/triples`, made of the statements of edits and the manifests of imports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

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
from models.memory import Block, ChangeKind, EditRefused, Image, Material, Options, Usage, block_key
from models.packs.pack import WORLD

GRAPH = "graph/triples"
TRIPLE = "triple"  # method of an edit that writes statements


@dataclass(frozen=True)
class TripleChange:
    """Statements of an edit about entities of the graph, with its names resolved to ids."""

    kind: ClassVar[ChangeKind] = "triple"

    id: str
    statements: EntityStatements


class GraphMemory:
    """The graph as a memory, one for each process. A view is built from the last view, so small commits are cheap."""

    name = GRAPH
    accepts: frozenset[ChangeKind] = frozenset({"triple"})
    options = Options

    def __init__(self, base: Base) -> None:
        self._base = base
        self._last: tuple[Image, GraphView] = (self.base, GraphView(base))

    @staticmethod
    def of(folder: Path = WORLD) -> GraphMemory:
        return GraphMemory(Base.of(folder))

    @cached_property
    def base(self) -> Image:
        return Image(self._base.digest)

    def build(self, changes: Sequence[TripleChange], options: Options) -> list[Material | EditRefused]:
        return [
            Material(change.id, TRIPLE, statements_block(block_key(change.id), 0, change.statements))
            for change in changes
        ]

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return an image with one block for each active edit; an entity is folded from them when it is read."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> GraphView:
        last_image, view = self._last
        delta = last_image.delta_to(image)
        if delta:
            replaced_keys = (*delta.removes, *(block.key for block in delta.puts))
            view = _without(
                view, [last_image.blocks[key] for key in replaced_keys if key in last_image.blocks]
            )
            view = _with(view, delta.puts)
        self._last = (image, view)
        return view

    def usage(self, image: Image) -> Usage:
        """Count the edits as slots; the graph reserves none."""
        return Usage(len(image.blocks), len(image.blocks))


@lru_cache(1)  # every system of a process reads the same object, and its views are built once
def graph_memory(folder: Path = WORLD) -> GraphMemory:
    """Return the graph of a pack as a memory.

    Raises:
        PackError: The pack is damaged.
    """
    return GraphMemory.of(folder)


def _without(view: GraphView, blocks: Sequence[Block]) -> GraphView:
    if not blocks:
        return view
    removals = {block.edit for block in blocks}
    subjects = {s for block in blocks if block.kind == STATEMENTS for s in read_statements(block)}
    edits = dict(view.edits)
    for subject in subjects:
        edits[subject] = tuple(pair for pair in edits[subject] if pair[1].edit not in removals)
        if not edits[subject]:
            del edits[subject]
    imports = tuple(active for active in view.imports if active.edit not in removals)
    return _next_view(view, edits, imports, subjects)


def _with(view: GraphView, blocks: Iterable[Block]) -> GraphView:
    imports, fresh = list(view.imports), defaultdict[str, list[tuple[int, SourceStatements]]](list)
    for block in blocks:
        if block.kind == IMPORT:
            imports.append(ActiveImport(block.order, block.edit, read_manifest(block)))
            continue
        for subject, statements in read_statements(block).items():
            fresh[subject].append((block.order, SourceStatements(block.edit, statements)))
    edits = dict(view.edits)
    for subject, pairs in fresh.items():
        edits[subject] = tuple(sorted((*edits.get(subject, ()), *pairs), key=lambda pair: pair[0]))
    imports.sort(key=lambda active: active.order)
    return _next_view(view, edits, tuple(imports), fresh)


def _next_view(
    view: GraphView,
    edits: Mapping[str, EditsInOrder],
    imports: tuple[ActiveImport, ...],
    subjects: Collection[str],
) -> GraphView:
    """Return the view that follows another, in which `subjects` changed."""
    new_labels, in_edges = _new_labels(view, edits, subjects), _new_in_edges(view, edits, subjects)
    return GraphView(view.base, edits, imports, new_labels, in_edges)


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
