"""Each system on each device and dtype of this machine: its speed, and its difference from float32 on the CPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from models.device import DTYPES, DeviceUnavailable, resolve_device, resolve_dtype
from models.graph.memory import GRAPH, graph_memory
from models.kbert.system import load as load_kbert
from models.memory import Views
from models.nkb.system import load as load_nkb
from models.system import Ask, Bundle, Reply
from tests.bench.questions import questions_and_subjects
from tests.bench.sentence_tree import link
from tests.bench.table import Row
from tests.bench.timing import measure_interleaved

BATCH, ROUNDS = 32, 10
LOADERS = {"nkb": load_nkb, "kbert": load_kbert}
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
    for name in LOADERS:
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
    bundle = LOADERS[name](resolve_device(device), DTYPES[dtype])
    view: Views = {memory.name: memory.view(memory.base) for memory in bundle.memories}
    graph = graph_memory()
    pairs = questions_and_subjects(BATCH)
    asks = [
        link(graph.view(graph.base), question, subject) if GRAPH in view else Ask(question)
        for question, subject in pairs
    ]
    return Side(bundle, asks, [view] * BATCH)


def _bind(side: Side, size: int) -> Any:
    return lambda: side.answer(size)


def _parity(replies: Sequence[Reply], reference: Sequence[Reply]) -> str:
    equal = sum(reply.best == other.best for reply, other in zip(replies, reference, strict=True))
    apart = max(abs(reply.score - other.score) for reply, other in zip(replies, reference, strict=True))
    return f"{equal} of {len(reference)} answers equal, scores at most {apart:.1e} apart"
