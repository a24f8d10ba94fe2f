"""`kbert`: K-BERT as a system that answers from the graph's facts about the words of a question.

Liu et al., K-BERT (arXiv:1909.07606). Its memory is the graph itself (models/graph), so an edit is a triple; the
weights never change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from models.graph.memory import GRAPH, graph_memory
from models.kbert.answer import Answerer
from models.kbert.checkpoint import DEFAULT, Model
from models.kbert.checkpoint import load as load_model
from models.kbert.cost import cost
from models.kbert.explain import explain_replies
from models.memory import Views
from models.packs.pack import PackProbes
from models.reading.checkpoint import load as load_reader
from models.reading.reader import Reader
from models.steps import Steps, finish
from models.system import Ask, Bundle, Input, Reply, Side


class KbertSystem(PackProbes):
    """The default checkpoint, reading the graph."""

    name = "kbert"
    memories = (GRAPH,)
    inputs: frozenset[Input] = frozenset({"graph", "context", "candidates"})
    cost = staticmethod(cost)

    def __init__(self, model: Model, reader: Reader) -> None:
        self.model, self.reader = model, reader
        self._answerer = Answerer(model, reader)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer from the mentions of the asks, which were read from the views already."""
        return finish(self._answer(asks))

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        """Yield None after each pass of the encoder, and last the reply."""
        [reply] = yield from self._answer([ask])
        yield reply

    def _answer(self, asks: Sequence[Ask]) -> Steps[list[Reply]]:
        readings = yield from self._answerer.read(asks)
        replies = yield from self._answerer.reply(asks, readings)
        return (yield from explain_replies(self._answerer, asks, readings, replies))

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Compare questions and mentions, from which alone an answer follows."""
        return [old != new for old, new in zip(before.asks, after.asks, strict=True)]

    def describe(self) -> Mapping[str, Any]:
        return {
            "checkpoint": self.model.digest,
            "engine": {"encoder": self.model.encoder.engine, "heads": f"torch, {self.model.device}"},
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            **asdict(self.model.settings),
            "reads": sorted(self.inputs),
            "unsure_below": {
                **{kind: scale.threshold for kind, scale in self.model.confidences.items()},
                "span": self.reader.confidence.threshold,
            },
            "reader": self.reader.digest,
        }


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in `folder`. CheckpointError: a file is missing or damaged; the text names it."""
    reader = load_reader(device=device, dtype=dtype)
    return Bundle(KbertSystem(load_model(folder, device, dtype), reader), (graph_memory(),))
