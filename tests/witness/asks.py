"""The questions of a witness: a seeded sample in the words of many writers, the same for all systems.

Each probe of the pack is asked once. The others are drawn with SEED.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from random import Random

from models.graph.knowledge import Mention
from models.graph.memory import GRAPH
from models.graph.view import GraphView
from models.memory import Views
from models.packs.pack import WORLD, Item, Pack, pack_probes
from models.system import Ask, SamplingOptions, System

SEED = 61
N_WORDED, N_PATHS, N_CONTEXTS, N_CHOICES = 160, 40, 50, 50


class Sample:
    """Questions about the pack, drawn from its facts and from what its writers call them."""

    def __init__(self) -> None:
        self.pack, self.draw = Pack.load(), Random(SEED)
        self.items = list(self.pack.items())
        self.writings = [
            json.loads(line)
            for path in sorted((WORLD / "phrasings").glob("hand*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]

    def asks(self) -> list[Ask]:
        """Return the probes and then 300 others."""
        asks = [Ask(self.word(item)) for item in self.draw.sample(self.items, N_WORDED)]
        asks[:40] = [replace(ask, top_k=3) for ask in asks[:40]]
        asks[30:60] = [replace(ask, explain=True) for ask in asks[30:60]]
        asks[60:70] = [replace(ask, use_graph=False) for ask in asks[60:70]]
        sampling = SamplingOptions(temperature=0.8, seed=SEED, max_tokens=8, logprobs=2)
        asks[70:76] = [replace(ask, sampling=sampling) for ask in asks[70:76]]
        rest = [*asks, *self.paths(), *self.contexts(), *self.choices()]
        return [*map(Ask, pack_probes().core), *rest]

    def word(self, item: Item, subject: str | None = None, kind: str = "q") -> str:
        """Ask for an item, or name its object, as one of the writers does."""
        texts = [text for row in self.writings if row["relation"] == item.relation.id for text in row[kind]]
        return self.draw.choice(texts).replace("{subject}", subject or item.subject.label)

    def paths(self) -> Iterator[Ask]:
        """Ask over two facts: what holds of the object of another fact."""
        by_subject: dict[str, list[Item]] = {}
        for item in self.items:
            by_subject.setdefault(item.subject.label, []).append(item)
        firsts = [item for item in self.items if item.answer in by_subject]
        for place, first in enumerate(self.draw.sample(firsts, N_PATHS)):
            name = self.word(first, kind="n")
            question = self.word(self.draw.choice(by_subject[first.answer]), name)
            yield Ask(question, top_k=1 + 2 * (place % 4 == 1), explain=place % 4 == 0)

    def contexts(self) -> Iterator[Ask]:
        """Ask beside a text; one in five does not say the answer."""
        for place, item in enumerate(self.draw.sample(self.items, N_CONTEXTS)):
            items = [item] * (place % 5 != 0) + self.draw.sample(self.items, 4)
            question, text = self.word(item), self.write(items)
            yield Ask(question, 1 + 2 * (place % 4 == 1), explain=place % 8 == 0, context=text)

    def choices(self) -> Iterator[Ask]:
        """Ask with candidates, among which the answer is; ask a few of strangers."""
        for place, item in enumerate(self.draw.sample(self.items, N_CHOICES)):
            subject = self.draw.choice(self.pack.strangers).subject if place % 5 == 0 else None
            answers = [item.answer, *(other.answer for other in self.draw.sample(self.items, 3))]
            candidates = tuple(dict.fromkeys(sorted(answers)))
            yield Ask(self.word(item, subject), explain=place % 8 == 0, candidates=candidates)

    def write(self, items: list[Item]) -> str:
        """Write sentences that say the items."""
        sentences = [self.draw.choice(item.relation.statements) for item in items]
        pairs = zip(sentences, items, strict=True)
        return " ".join(t.format(subject=item.subject.label, object=item.answer) for t, item in pairs)


def fit(ask: Ask, system: System, views: Views) -> Ask:
    """Return a question with what the system reads of it, and with the names that the graph has."""
    ask = replace(
        ask,
        context=ask.context if "context" in system.inputs else None,
        candidates=ask.candidates if "candidates" in system.inputs else (),
        sampling=ask.sampling if "sampling" in system.inputs else None,
    )
    is_read = "graph" in system.inputs and ask.use_graph
    return replace(ask, mentions=tuple(find_names(ask.question, views[GRAPH]))) if is_read else ask


def find_names(text: str, view: GraphView) -> Iterator[Mention]:
    """Yield the names of the graph in a text, from left to right, the longest at each place."""
    names = names_of(view)
    bounds = [place for place in range(len(text) + 1) if _is_bound(text, place)]
    end = 0
    for start in bounds:
        for stop in reversed(bounds):
            if end <= start < stop and (ids := names.get(text[start:stop].casefold())):
                yield Mention(start, stop, tuple(e for id in ids if (e := view.entity(id)) is not None))
                end = stop
                break


def _is_bound(text: str, place: int) -> bool:
    return not (0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum())


@lru_cache(1)
def names_of(view: GraphView) -> dict[str, list[str]]:
    """Return folded name -> the entities that have it."""
    names: dict[str, list[str]] = {}
    for id in sorted({*view.base.statements, *view.edits}):
        entity = view.entity(id)
        for name in dict.fromkeys(map(str.casefold, entity.names if entity else ())):
            names.setdefault(name, []).append(id)
    return names
