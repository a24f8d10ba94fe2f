"""`relational`: answers over several facts, by attention over the graph around a question.

specs/rules.md, section 9. Its memories are the graph (models/graph), edited by triples, and the rules
about walks (rules/), edited by rules; the weights never change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from models.graph.memory import GRAPH, graph_memory
from models.graph.neighbours import Reach
from models.memory import Views
from models.packs.pack import PackProbes
from models.relational.answer import NO_RULES, Answerer, Reading, Sources
from models.relational.checkpoint import DEFAULT, Model
from models.relational.checkpoint import load as load_model
from models.relational.cost import cost
from models.relational.explain import explain
from models.relational.memory import PROGRAM, rule_memory
from models.relational.subgraph import EntityNeighbours, build_subgraph
from models.system import Ask, Bundle, Input, Reply, Side


class RelationalSystem(PackProbes):
    """A trained reader over the graph, within the rules."""

    name = "relational"
    memories = (GRAPH, PROGRAM)
    inputs: frozenset[Input] = frozenset({"graph"})
    cost = staticmethod(cost)

    def __init__(self, model: Model) -> None:
        self.model = model
        self._answerer = Answerer(model)
        config = model.config
        self.reach = Reach(config.hops, config.fan_out, config.max_nodes, config.fan_in)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer from the entities that the questions name and from those around them."""
        sources = [sources_of(ask, view) for ask, view in zip(asks, views, strict=True)]
        readings = self._answerer.read(asks, sources)
        replies = [self._answerer.reply(reading) for reading in readings]
        return [
            replace(reply, explanation=explain(reading))
            if ask.explain and isinstance(reading, Reading)
            else reply
            for ask, reading, reply in zip(asks, readings, replies, strict=True)
        ]

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Compare the sub-graphs, from which alone, with the question, an answer follows."""
        return [
            old != new or self._graph(old, before.views) != self._graph(new, after.views)
            for old, new in zip(before.asks, after.asks, strict=True)
        ]

    def _graph(self, ask: Ask, views: Views) -> object:
        entities = [entity for mention in ask.mentions for entity in mention.entities]
        sources = sources_of(ask, views)
        graph = sources.rules.extend(build_subgraph(sources.graph, entities, self.model.config))
        return graph, sources.rules.allowed(graph)

    def describe(self) -> Mapping[str, Any]:
        """Return sizes, checkpoint and engine."""
        return {
            "checkpoint": self.model.digest,
            "engine": {"encoder": self.model.reader.engine, "network": f"torch, {self.model.reader.device}"},
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            **asdict(self.model.config),
            "parameters": sum(value.numel() for value in self.model.network.parameters()),
            "device": str(self.model.reader.device),
            "reads": sorted(self.inputs),
            "unsure_below": self.model.confidence.threshold,
        }


def sources_of(ask: Ask, views: Views) -> Sources:
    """Return what a question reads: the entities of the graph around it, and the rules."""
    return Sources(EntityNeighbours.of_ask(ask, views.get(GRAPH)), views.get(PROGRAM, NO_RULES))


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in `folder`. CheckpointError: it is missing or damaged; the sentence names the file."""
    return Bundle(RelationalSystem(load_model(folder, device, dtype)), (graph_memory(), rule_memory()))
