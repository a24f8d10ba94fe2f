"""`thu-ernie`: answers by aligning a mask with the rows of entities, and from a context with a span of it.

Zhang et al. (arXiv:1905.07129). The graph gives the candidates and the entity table chooses among them: a row
encodes the facts of its entity, so an edit of the row changes the answer without a change of weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from models.graph.base import Base
from models.graph.memory import GRAPH, graph_memory
from models.graph.statement import RELATION
from models.memory import Views
from models.packs.pack import PackProbes
from models.reading.checkpoint import load as load_reader
from models.reading.reader import Reader
from models.system import Ask, Bundle, Input, Reply, Side
from models.thu_ernie.answer import Aligner
from models.thu_ernie.checkpoint import DEFAULT
from models.thu_ernie.checkpoint import load as load_model
from models.thu_ernie.cost import cost
from models.thu_ernie.entities.facts import GraphFacts
from models.thu_ernie.entities.memory import ENTITIES, EntityMemory
from models.thu_ernie.entities.table import TEXT, EntityView, row_name
from models.thu_ernie.explain import explain
from models.thu_ernie.reader import Model


class ThuErnieSystem(PackProbes):
    """A checkpoint that was trained to answer, and the reader of contexts. Thread-safe."""

    name = "thu-ernie"
    memories = (GRAPH, ENTITIES)
    inputs: frozenset[Input] = frozenset({"graph", "context", "candidates"})
    cost = staticmethod(cost)

    def __init__(self, model: Model, reader: Reader) -> None:
        self.model, self.reader = model, reader
        self._aligner = Aligner(model)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer from the context if there is one, otherwise from entities."""
        places = [place for place, ask in enumerate(asks) if not ask.context]
        readings = self._aligner.read([asks[place] for place in places], [views[place] for place in places])
        replies = dict(zip(places, map(self._aligner.reply, readings), strict=True))
        for place, reading in zip(places, readings, strict=True):
            if reading.ask.explain:
                explanation = explain(self._aligner, reading, views[place])
                replies[place] = replace(replies[place], explanation=explanation)
        return [
            replies[place] if place in replies else self.reader.answer(ask) for place, ask in enumerate(asks)
        ]

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        """Yield None after each window of a context, and last the reply of `answer`."""
        if ask.context:
            yield (yield from self.reader.answer_in_steps(ask))
        else:
            yield from self.answer([ask], [views])

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Compare what an answer follows from: the question with its facts, and the rows that these name."""
        old, new = before.views[ENTITIES], after.views[ENTITIES]
        if old.edits == new.edits:
            return [first != second for first, second in zip(before.asks, after.asks, strict=True)]
        return [
            first != second or not first.mentions or self._edits_of(first, old) != self._edits_of(first, new)
            for first, second in zip(before.asks, after.asks, strict=True)
        ]

    def _edits_of(self, ask: Ask, view: EntityView) -> list[str]:
        """Return the edits of the rows that a question may depend on."""
        entities = [entity for mention in ask.mentions for entity in mention.entities]
        facts = [fact for entity in entities for fact in entity.facts]
        names = [entity.id for entity in entities]
        names += [
            name
            for fact in facts
            for name in (row_name(fact.object, fact.object_id), RELATION + fact.relation)
        ]
        names += [self.model.names.get(text.casefold(), TEXT + text) for text in ask.candidates]
        return [view.edits.get(view.row_of(name), "") for name in names]

    def describe(self) -> Mapping[str, Any]:
        """Return sizes, checkpoint, engine and device."""
        config = self.model.network.config
        return {
            "checkpoint": self.model.digest,
            "engine": "torch",
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            "device": str(self.model.device),
            "layers": list(config.kinds),
            "width": config.width,
            "entity_size": config.entity_size,
            "rows": len(self.model.table),
            **asdict(self.model.settings),
            "reads": sorted(self.inputs),
            "unsure_below": {
                **{kind: scale.threshold for kind, scale in self.model.confidences.items()},
                "span": self.reader.confidence.threshold,
            },
            "reader": self.reader.digest,
        }


def entity_memory(model: Model) -> EntityMemory:
    """Return the memory of a checkpoint's table, whose rows say the facts of the graph's base."""
    return EntityMemory(model.table, GraphFacts.of(Base.of()), model.settings.margin)


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in a folder.

    Raises:
        CheckpointError: It is missing or damaged; the sentence names the file.
        EncoderNotFound: MiniLM's files are not there.
    """
    model = load_model(folder, device, dtype)
    reader = load_reader(device=device, dtype=dtype)
    return Bundle(ThuErnieSystem(model, reader), (graph_memory(), entity_memory(model)))
