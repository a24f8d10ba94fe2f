"""`kbert` as the service sees it: questions with what the graph says of their words in, replies out.

Liu et al., K-BERT (arXiv:1909.07606). The memory is the graph itself (models/graph), so a correction is a triple,
which the service makes; the weights never change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from models.graph.memory import GRAPH, GraphMemory
from models.graph.view import GraphView
from models.kbert.answer import Answerer
from models.kbert.checkpoint import DEFAULT, Model, load
from models.kbert.explain import explain_replies
from models.memory import Image
from models.system import Ask, Capacity, Correction, EditRefused, Material, Reply

METHODS: tuple[str, ...] = ("graph",)


class KbertSystem:
    """The default checkpoint and the graph that it reads."""

    name = "kbert"
    memory = GRAPH
    methods = METHODS
    reads: frozenset[str] = frozenset({"graph", "context", "candidates"})

    def __init__(self, model: Model, graph: GraphMemory) -> None:
        self.model = model
        self.graph = graph
        self._answerer = Answerer(model)

    @staticmethod
    def load(folder: Path = DEFAULT) -> "KbertSystem":
        return KbertSystem(load(folder), GraphMemory.of())

    @property
    def base(self) -> Image:
        return self.graph.base

    def view(self, image: Image) -> GraphView:
        return self.graph.view(image)

    def answer(self, asks: Sequence[Ask], views: Sequence[GraphView]) -> list[Reply]:
        """What the graph says stands in the questions already; the views are those that it was read from."""
        readings = self._answerer.read(asks)
        replies = self._answerer.reply(asks, readings)
        return explain_replies(self._answerer, asks, readings, replies)

    def unmoved(
        self, before: tuple[Sequence[Ask], GraphView], after: tuple[Sequence[Ask], GraphView]
    ) -> list[bool]:
        """An answer follows from the question and from what the graph says of it, and from nothing else."""
        return [old == new for old, new in zip(before[0], after[0], strict=True)]

    def touched(self, before: GraphView, after: GraphView) -> None:
        """None: a fact of the graph may bear on any question."""

    def speakers(self, view: GraphView) -> None:
        """What an entity's facts say to a question, only asking tells."""

    def speaking(self, asks: Sequence[Ask], view: GraphView) -> list[str | None]:
        return [None] * len(asks)

    def edit(self, corrections: Sequence[Correction], method: str) -> list[Material]:
        detail = "kbert answers from the graph: correct it with {subject, relation, object}, not with a free answer"
        raise EditRefused("triples_only", detail)

    def fold(self, materials: Sequence[Material]) -> Image:
        return self.graph.fold(materials)

    def capacity(self, image: Image) -> Capacity:
        """A graph has no slots: as many are used as there are edits, and none are set aside."""
        return Capacity(len(image.blocks), len(image.blocks))

    def describe(self) -> Mapping[str, Any]:
        return {
            "checkpoint": self.model.digest,
            "engine": "torch",
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            **asdict(self.model.settings),
            "methods": list(self.methods),
            "reads": sorted(self.reads),
            "unsure_below": {kind: scale.threshold for kind, scale in self.model.confidences.items()},
        }
