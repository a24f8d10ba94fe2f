"""The paper's ablations (Liu et al., K-BERT, section "Ablation studies") and two of our own, on the trained weights.

Without soft positions: places in the row. Without the visible matrix: every token sees all. Without the graph: plain
BERT. Ours: the pointer without the rank, and the rank without the pointer. No weight is trained again, but each gets a
scale and a threshold of its own, so that a mere shift of its logits costs it nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from models.kbert.batch import Batch
from models.kbert.heads import Heads
from models.kbert.packed import PackedEncoder
from models.kbert.system import KbertSystem
from models.system import Ask

Without = Callable[[KbertSystem], KbertSystem]
Change = Callable[[Ask], Ask]


@dataclass(frozen=True)
class Ablated(PackedEncoder):
    """An encoder that is handed another batch than the one that was made."""

    change: Callable[[Batch], Batch] = lambda batch: batch

    def read(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        return super().read(self.change(batch))


def _reading(change: Callable[[Batch], Batch]) -> Without:
    def without(system: KbertSystem) -> KbertSystem:
        whole = system.model.encoder
        encoder = Ablated(whole.words, whole.positions, whole.segments, whole.norm, whole.layers, change)
        return KbertSystem(replace(system.model, encoder=encoder))

    return without


def _weighing(*names: str) -> Without:
    def without(system: KbertSystem) -> KbertSystem:
        tensors = dict(system.model.heads.tensors)
        tensors |= {name: torch.zeros_like(tensors[name]) for name in names}
        return KbertSystem(replace(system.model, heads=Heads(tensors)))

    return without


def _same(ask: Ask) -> Ask:
    return ask


def _unlinked(ask: Ask) -> Ask:
    return replace(ask, mentions=(), linked=False)


ABLATIONS: dict[str, tuple[Without, Change]] = {
    "K-BERT": (lambda system: system, _same),
    "without soft positions": (_reading(lambda batch: batch.with_hard_positions()), _same),
    "without the visible matrix": (_reading(lambda batch: batch.without_visible_matrix()), _same),
    "without either": (
        _reading(lambda batch: batch.with_hard_positions().without_visible_matrix()),
        _same,
    ),
    "without the graph": (lambda system: system, _unlinked),
    "the pointer without the rank": (_weighing("rank.weight"), _same),
    "the rank without the pointer": (_weighing("pointer.weight", "pointer.bias"), _same),
}
