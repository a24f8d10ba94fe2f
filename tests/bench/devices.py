"""Each system on each device and dtype of this machine: its speed, and its difference from float32 on the CPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import torch

from models.device import DTYPES, DeviceUnavailable, resolve_device, resolve_dtype
from models.graph.memory import graph_memory
from models.memory import Views
from models.packs.pack import Pack
from models.system import Ask, Bundle, Reply
from models.systems import SYSTEMS
from tests.bench.questions import questions_and_subjects
from tests.bench.sentence_tree import link
from tests.bench.table import Row
from tests.bench.timing import measure_interleaved

BATCH, ROUNDS = 32, 10
N_CONTEXT_FACTS = 8  # number of facts that the text states, for a system that reads a text and no graph
REFERENCE = "cpu float32"


@dataclass(frozen=True)
class Side:
    """A system on one device, with questions that are the same for all."""

    bundle: Bundle
    asks: Sequence[Ask]
    views: Sequence[Views]

    def answer(self, size: int = BATCH) -> list[Reply]:
        replies = self.bundle.system.answer(self.asks[:size], self.views[:size])
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return replies


def rows() -> Iterator[Row]:
    for name in SYSTEMS:
        sides = {f"{device} {dtype}": _load(name, device, dtype) for device, dtype in _combinations()}
        reference = sides[REFERENCE].answer()
        for size in (1, BATCH):
            seconds = measure_interleaved({key: _bind(side, size) for key, side in sides.items()}, ROUNDS)
            for key, side in sides.items():
                yield Row(
                    f"{name} on {key}, batch of {size}, against {REFERENCE}",
                    seconds[REFERENCE] / seconds[key],
                    "",
                    f"{1e3 * seconds[key]:.0f} ms; {_parity(side.answer(), reference)}",
                )


def _combinations() -> Iterator[tuple[str, str]]:
    """Yield devices and dtypes that this machine has, the CPU first."""
    for device in ("cpu", "cuda"):
        for dtype in DTYPES:
            try:
                resolve_dtype(dtype, resolve_device(device))
            except DeviceUnavailable as error:
                print(error)
                continue
            yield device, dtype


def _load(name: str, device: str, dtype: str) -> Side:
    module, loader = SYSTEMS[name].split(":")
    bundle: Bundle = getattr(import_module(module), loader)(resolve_device(device), DTYPES[dtype])
    view: Views = {memory.name: memory.view(memory.base) for memory in bundle.memories}
    return Side(bundle, _asks(bundle.system.inputs), [view] * BATCH)


def _asks(inputs: frozenset[str]) -> list[Ask]:
    """Return questions of the pack with what a system reads beside them: the graph, or a text that states facts."""
    pairs = questions_and_subjects(BATCH)
    if "graph" in inputs:
        graph = graph_memory()
        view = graph.view(graph.base)
        return [link(view, question, subject) for question, subject in pairs]
    asks = [Ask(question) for question, _ in pairs]
    return [replace(ask, context=_text()) for ask in asks] if "context" in inputs else asks


def _text() -> str:
    """State facts of the pack, a sentence each."""
    subjects = {subject for _, subject in questions_and_subjects(BATCH)}
    items = [item for item in Pack.load().items() if item.subject.id in subjects][:N_CONTEXT_FACTS]
    return " ".join(f"The {item.relation.label} of {item.subject.label} is {item.answer}." for item in items)


def _bind(side: Side, size: int) -> Any:
    return lambda: side.answer(size)


def _parity(replies: Sequence[Reply], reference: Sequence[Reply]) -> str:
    equal = sum(reply.best == other.best for reply, other in zip(replies, reference, strict=True))
    apart = max(abs(reply.score - other.score) for reply, other in zip(replies, reference, strict=True))
    return f"{equal} of {len(reference)} answers equal, scores at most {apart:.1e} apart"
