"""`kbert` as the service sees it: questions with what the graph says of their words in, replies out.

Liu et al., K-BERT (arXiv:1909.07606). The memory is the graph itself (models/graph), so a correction is a triple,
which the service makes; the weights never change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from models.graph.memory import GRAPH, GraphMemory
from models.graph.view import GraphView
from models.kbert.answering import Answerer, Read
from models.kbert.default import DEFAULT, Model, load
from models.kbert.explain import explain, left_out_in_turn
from models.kbert.replies import sorted_out, told
from models.kbert.sentences import sentences
from models.kbert.support import supports
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
        read = self._answerer.read(asks)
        replies = self._replies(asks, read)
        explained = [number for number, ask in enumerate(asks) if ask.explain]
        for number, explanation in zip(
            explained, self._explanations(asks, read, replies, explained), strict=True
        ):
            replies[number] = replace(replies[number], explanation=explanation)
        return replies

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

    def _replies(self, asks: Sequence[Ask], read: Sequence[Read]) -> list[Reply]:
        """Candidates are sorted; else the pointer answers, and where it is unsure the sentences of the context."""
        scales = self.model.confidences
        replies = [told(ask, one, scales) for ask, one in zip(asks, read, strict=True)]
        wanted = [_candidates(ask, reply) for ask, reply in zip(asks, replies, strict=True)]
        fits = self._fits(asks, read, wanted)
        return [
            sorted_out(ask, one, texts, found, scales["pair"]) if texts else reply
            for ask, one, reply, texts, found in zip(asks, read, replies, wanted, fits, strict=True)
        ]

    def _fits(
        self, asks: Sequence[Ask], read: Sequence[Read], wanted: Sequence[Sequence[str]]
    ) -> Iterator[list[float | None]]:
        """Log-odds of the pair ranker, with what facts and context say for each candidate."""
        pairs = [
            (ask, one, text) for ask, one, texts in zip(asks, read, wanted, strict=True) for text in texts
        ]
        found = iter(self._answerer.fits(pairs))
        weight = self.model.heads.support_weight
        for one, texts in zip(read, wanted, strict=True):
            given = supports(one.options, texts)
            yield [
                None if fit is None else fit + weight * support
                for fit, support in zip([next(found) for _ in texts], given, strict=True)
            ]

    def _explanations(
        self, asks: Sequence[Ask], read: Sequence[Read], replies: Sequence[Reply], which: Sequence[int]
    ) -> Iterator[dict[str, Any]]:
        """All questions with a fact left out, of all that are explained, are one batch."""
        turns = [left_out_in_turn(asks[number], read[number]) for number in which]
        flat = [ask for some in turns for ask in some]
        others = iter(self._replies(flat, self._answerer.read(flat)))
        for number, some in zip(which, turns, strict=True):
            yield explain(asks[number], read[number], replies[number], [next(others) for _ in some])


def _candidates(ask: Ask, reply: Reply) -> Sequence[str]:
    if ask.candidates:
        return ask.candidates
    return sentences(ask.context) if ask.context and reply.answer is None else ()
