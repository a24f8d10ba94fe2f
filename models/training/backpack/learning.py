"""The steps of the training: next-token cross-entropy on documents, resumable, the same for the same seed.

Hewitt et al., arXiv:2305.16765, section 4. The tokens of answers weigh more than the rest, since a run this short has
to learn facts.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.backpack.answering.prompt import Speller
from models.backpack.config import BackpackConfig
from models.backpack.network import INIT_STD, Backpack
from models.training.backpack.texts import Texts
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast


class BackpackNet(Backpack):
    """A Backpack whose sense network reads each different token of a batch once."""

    def senses_of(self, ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sense width"]:
        """Return the sense vectors of tokens."""
        different, places = torch.unique(ids, return_inverse=True)
        rows = super().senses_of(different)
        return F.embedding(places, rows.flatten(1)).view(*ids.shape, *rows.shape[1:])


def build_net(plan: Plan) -> BackpackNet:
    """Build a network; the same for the same seed."""
    torch.manual_seed(plan.seed)
    net = BackpackNet(plan.model.make(BackpackConfig))
    std = INIT_STD / math.sqrt(2 * plan.model.layers)
    for name, parameter in net.named_parameters():
        if name.endswith("c_proj.weight"):
            nn.init.normal_(parameter, std=std)
    return net


def count_parameters(net: nn.Module) -> int:
    """Return how many numbers a network learns."""
    return sum(parameter.numel() for parameter in net.parameters())


ANSWER = "\nA:"  # text before an answer


@dataclass(frozen=True)
class Batch:
    """Documents to learn from."""

    ids: Int[Tensor, "batch token"]  # the end token stands behind each text and at padding
    is_real: Bool[Tensor, "batch token"]  # False at padding
    weights: Float[Tensor, "batch token"]  # weights of the tokens as targets, 0 at padding


class Batches:
    """The batches of each epoch."""

    def __init__(self, plan: Plan, texts: Texts, speller: Speller) -> None:
        self._plan, self._texts, self._speller = plan, texts, speller
        self._marker = speller.spell(ANSWER)
        self.per_epoch = len(texts.items) // plan.documents

    def from_step(self, step: int) -> Iterator[Batch]:
        """Yield the batches from one step on."""
        while True:
            epoch, place = divmod(step, self.per_epoch)
            batches = self._epoch(epoch)
            for rows in batches[place:]:
                yield self.collate(rows)
            step = (epoch + 1) * self.per_epoch

    def collate(self, rows: Sequence[Sequence[int]]) -> Batch:
        """Make a batch of documents."""
        lengths = torch.tensor([len(row) for row in rows])
        is_real = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.full(is_real.shape, self._plan.model.end)
        ids[is_real] = torch.tensor([token for row in rows for token in row])
        is_answer = torch.zeros_like(is_real)
        is_answer[is_real] = torch.tensor([flag for row in rows for flag in self._find_answers(row)])
        return Batch(ids, is_real, is_real * torch.where(is_answer, self._plan.answer_weight, 1.0))

    def encode(self, document: str) -> list[int]:
        """Return the tokens of a document with the end token, at most as many as the network has positions."""
        return [*self._speller.spell(document), self._plan.model.end][: self._plan.model.positions]

    def _epoch(self, epoch: int) -> list[list[list[int]]]:
        """Return the documents of an epoch in batches of similar length, in an order drawn for this epoch."""
        rng = random.Random(f"{self._plan.seed} order {epoch}")
        rows = [self.encode(document) for document in self._texts.documents(epoch)]
        rng.shuffle(rows)
        batches, size = [], self._plan.documents
        for start in range(0, self.per_epoch * size, self._plan.sorted_steps * size):
            chunk = sorted(
                rows[start : min(start + self._plan.sorted_steps * size, self.per_epoch * size)], key=len
            )
            batches += [chunk[at : at + size] for at in range(0, len(chunk), size)]
        rng.shuffle(batches)
        return batches

    def _find_answers(self, row: Sequence[int]) -> list[bool]:
        """Return which tokens belong to an answer, the end of its line included."""
        flags, inside, width = [], False, len(self._marker)
        for place, token in enumerate(row):
            inside = inside or list(row[max(0, place - width) : place]) == self._marker
            flags.append(inside)
            inside = inside and token != self._speller.stop
        return flags


class Learning(Steps):
    """One training of the network of `build_net`, on its device."""

    def __init__(self, plan: Plan, net: BackpackNet, batches: Batches, say: Say) -> None:
        names = dict(net.named_parameters())
        matrices = [p for name, p in names.items() if p.dim() == 2 and not name.startswith("gpt2_model.w")]
        vectors = [p for name, p in names.items() if p.dim() == 1 or name.startswith("gpt2_model.w")]
        groups = [
            {"params": matrices, "weight_decay": plan.decay, "peak": plan.lr},
            {"params": vectors, "weight_decay": 0.0, "peak": plan.lr},
        ]
        super().__init__(plan, net, groups, say, betas=plan.betas)
        self.net, self._batches = net, batches
        self._following: tuple[int, Iterator[Batch]] = (-1, iter(()))

    def learn(self, step: int) -> float:
        """Add the gradients of one batch."""
        device = self.net.embedding.device
        batch = self._batch(step)
        ids, is_real, weights = (part.to(device) for part in (batch.ids, batch.is_real, batch.weights))
        with (
            autocast(device),
            sdpa_kernel(SDPBackend.MATH),  # the fused kernel's backward pass takes ten times as long here
        ):
            logits = self.net(ids[:, :-1], is_real[:, :-1]).logits
        weights = weights[:, 1:]
        is_target = weights > 0
        losses = F.cross_entropy(logits[is_target].float(), ids[:, 1:][is_target], reduction="none")
        loss = losses @ weights[is_target] / weights.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    def _batch(self, step: int) -> Batch:
        number, batches = self._following
        if number != step:
            batches = self._batches.from_step(step)
        batch = next(batches)
        self._following = (step + 1, batches)
        return batch
