"""The graph as an editable memory: `graph/triples`, whose blocks are what edits say and which imports are in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from models.graph.base import Base
from models.graph.blocks import IMPORT, STATEMENTS, Told, manifest_in, told_in
from models.graph.statement import LABEL, Said, fold
from models.graph.view import GraphView, Imported, Ordered
from models.memory import Block, Image
from models.packs.pack import WORLD
from models.system import Material

GRAPH = "graph/triples"


class GraphMemory:
    """One per process. A view is made out of the last one, so that a commit costs what it changes."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._last: tuple[Image, GraphView] = (self.base, GraphView(base))

    @staticmethod
    def of(folder: Path = WORLD) -> GraphMemory:
        return GraphMemory(Base.of(folder))

    @cached_property
    def base(self) -> Image:
        return Image(self._base.digest)

    def fold(self, materials: Sequence[Material]) -> Image:
        """Every active edit is a block of its own; what they come to is folded entity by entity when it is read."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> GraphView:
        known, view = self._last
        delta = known.delta_to(image)
        gone = [
            known.blocks[key] for key in (*delta.removes, *(b.key for b in delta.puts)) if key in known.blocks
        ]
        made = _with(_without(view, gone), delta.puts) if delta else view
        self._last = (image, made)
        return made


def _edit(block: Block) -> str:
    return block.key.removeprefix("edit/")


def _without(view: GraphView, blocks: Iterable[Block]) -> GraphView:
    gone = {_edit(block): block for block in blocks}
    if not gone:
        return view
    edited = dict(view.edited)
    for block in gone.values():
        for subject in told_in(block) if block.kind == STATEMENTS else ():
            left = tuple(pair for pair in edited.get(subject, ()) if pair[1].edit not in gone)
            if left:
                edited[subject] = left
            else:
                edited.pop(subject, None)
    imports = tuple(one for one in view.imports if one.edit not in gone)
    return GraphView(view.base, edited, imports, _relabelled(edited))


def _with(view: GraphView, blocks: Iterable[Block]) -> GraphView:
    edited, imports = dict(view.edited), list(view.imports)
    for block in blocks:
        if block.kind == IMPORT:
            imports.append(Imported(block.order, _edit(block), manifest_in(block)))
        else:
            _tell(edited, block, told_in(block))
    return GraphView(
        view.base, edited, tuple(sorted(imports, key=lambda one: one.order)), _relabelled(edited)
    )


def _tell(edited: dict[str, Ordered], block: Block, told: Told) -> None:
    for subject, statements in told.items():
        pairs = (*edited.get(subject, ()), (block.order, Said(_edit(block), statements)))
        edited[subject] = tuple(sorted(pairs, key=lambda pair: pair[0]))


def _relabelled(edited: Mapping[str, Ordered]) -> dict[str, str]:
    """Labels that edits gave: objects that are entities are called by them at once."""
    found: dict[str, str] = {}
    for subject, pairs in edited.items():
        if any(one.relation == LABEL for _, said in pairs for one in said.statements):
            labels = fold(said for _, said in pairs).get(LABEL)
            if labels:
                found[subject] = next(reversed(labels))
    return found
