"""`kbert`: K-BERT as a system that answers from what the graph says of the words of a question.

Liu et al., K-BERT (arXiv:1909.07606). Its memory is the graph itself (models/graph), so an edit is a triple; the
weights never change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from models.graph.memory import GRAPH, graph_memory
from models.kbert.answering import Answerer, Read
from models.kbert.default import DEFAULT, Model
from models.kbert.default import load as load_model
from models.kbert.explain import explain, left_out_in_turn
from models.kbert.replies import sorted_out, told
from models.kbert.sentences import sentences
from models.kbert.support import supports
from models.memory import Views
from models.packs.probes import pack_probes
from models.system import Ask, Input, Loaded, Probes, Reply, Side


class KbertSystem:
    """The default checkpoint, reading the graph."""

    name = "kbert"
    memories = (GRAPH,)
    inputs: frozenset[Input] = frozenset({"graph", "context", "candidates"})

    def __init__(self, model: Model) -> None:
        self.model = model
        self._answerer = Answerer(model)

    @property
    def probes(self) -> Probes:
        return pack_probes()

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """What the graph says is in the asks already; the views are those that it was read from."""
        reads = self._answerer.read(asks)
        replies = self._replies(asks, reads)
        explained = [number for number, ask in enumerate(asks) if ask.explain]
        for number, explanation in zip(
            explained, self._explanations(asks, reads, replies, explained), strict=True
        ):
            replies[number] = replace(replies[number], explanation=explanation)
        return replies

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """An answer follows from the question and from what the graph says of it, and from nothing else."""
        return [old != new for old, new in zip(before.asks, after.asks, strict=True)]

    def describe(self) -> Mapping[str, Any]:
        return {
            "checkpoint": self.model.digest,
            "engine": "torch",
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            **asdict(self.model.settings),
            "methods": ["graph"],
            "reads": sorted(self.inputs),
            "unsure_below": {kind: scale.threshold for kind, scale in self.model.confidences.items()},
        }

    def _replies(self, asks: Sequence[Ask], reads: Sequence[Read]) -> list[Reply]:
        """Candidates are ranked; else the pointer answers, and where it is unsure the sentences of the context."""
        scales = self.model.confidences
        replies = [told(ask, read, scales) for ask, read in zip(asks, reads, strict=True)]
        candidates = [_candidates(ask, reply) for ask, reply in zip(asks, replies, strict=True)]
        fits = self._fits(asks, reads, candidates)
        return [
            sorted_out(ask, read, texts, text_fits, scales["pair"]) if texts else reply
            for ask, read, reply, texts, text_fits in zip(asks, reads, replies, candidates, fits, strict=True)
        ]

    def _fits(
        self, asks: Sequence[Ask], reads: Sequence[Read], candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[float | None]]:
        """Log-odds of the pair ranker, with what facts and context say for each candidate."""
        pairs = [
            (ask, read, text)
            for ask, read, texts in zip(asks, reads, candidates, strict=True)
            for text in texts
        ]
        pair_fits = iter(self._answerer.fits(pairs))
        weight = self.model.heads.support_weight
        for read, texts in zip(reads, candidates, strict=True):
            yield [
                None if fit is None else fit + weight * support
                for fit, support in zip(
                    [next(pair_fits) for _ in texts], supports(read.options, texts), strict=True
                )
            ]

    def _explanations(
        self, asks: Sequence[Ask], reads: Sequence[Read], replies: Sequence[Reply], explained: Sequence[int]
    ) -> Iterator[dict[str, Any]]:
        """All questions with a fact left out, of all that are explained, are one batch."""
        turns = [left_out_in_turn(asks[number], reads[number]) for number in explained]
        flat = [ask for turn in turns for ask in turn]
        turn_replies = iter(self._replies(flat, self._answerer.read(flat)))
        for number, turn in zip(explained, turns, strict=True):
            yield explain(asks[number], reads[number], replies[number], [next(turn_replies) for _ in turn])


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Loaded:
    """The checkpoint in `folder`. CheckpointError says what is wrong with it."""
    return Loaded(KbertSystem(load_model(folder)), (graph_memory(),))


def _candidates(ask: Ask, reply: Reply) -> Sequence[str]:
    if ask.candidates:
        return ask.candidates
    return sentences(ask.context) if ask.context and reply.answer is None else ()
