"""The steps of the training: next-token cross-entropy on documents, resumable, the same for the same seed.

Hewitt et al., arXiv:2305.16765, section 4. The tokens of answers weigh more than the rest, since a run this short has
to learn facts.
"""

import math
import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.backpack.network import INIT_STD, Backpack
from models.backpack.senses import BackpackConfig
from models.backpack.speller import Speller
from models.training.backpack.texts import Texts
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Epochs, autocast

ANSWER = "\nA:"  # text before an answer


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


class Learning(Epochs):
    """One training of the network of `build_net`, on its device; a batch has the tokens of some documents."""

    def __init__(self, plan: Plan, net: BackpackNet, texts: Texts, speller: Speller, say: Say) -> None:
        names = dict(net.named_parameters())
        matrices = [p for name, p in names.items() if p.dim() == 2 and not name.startswith("gpt2_model.w")]
        vectors = [p for name, p in names.items() if p.dim() == 1 or name.startswith("gpt2_model.w")]
        groups = [
            {"params": matrices, "weight_decay": plan.decay, "peak": plan.lr},
            {"params": vectors, "weight_decay": 0.0, "peak": plan.lr},
        ]
        per_epoch = len(texts.items) // plan.documents
        super().__init__(plan, per_epoch, net, groups, say, betas=plan.betas)
        self.net, self._texts, self._speller = net, texts, speller
        self._marker = speller.spell(ANSWER)

    def draw(self, epoch: int) -> list[list[list[int]]]:
        """Return the documents of an epoch in batches of similar length, in an order drawn for this epoch."""
        rng = random.Random(f"{self.plan.seed} order {epoch}")
        rows = [self.encode(document) for document in self._texts.documents(epoch)]
        rng.shuffle(rows)
        batches, size = [], self.plan.documents
        for start in range(0, self.per_epoch * size, self.plan.sorted_steps * size):
            chunk = sorted(
                rows[start : min(start + self.plan.sorted_steps * size, self.per_epoch * size)], key=len
            )
            batches += [chunk[at : at + size] for at in range(0, len(chunk), size)]
        rng.shuffle(batches)
        return batches

    def encode(self, document: str) -> list[int]:
        """Return the tokens of a document with the end token, at most as many as the network has positions."""
        return [*self._speller.spell(document), self.plan.model.end][: self.plan.model.positions]

    def loss_of(self, batch: list[list[int]]) -> Float[Tensor, ""]:
        """Return the cross-entropy of the next tokens; those of answers weigh more."""
        device, lengths = self.net.embedding.device, torch.tensor([len(row) for row in batch])
        is_real = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.full(is_real.shape, self.plan.model.end)
        ids[is_real] = torch.tensor([token for row in batch for token in row])
        weights = is_real.float()
        flags = torch.tensor([flag for row in batch for flag in self._find_answers(row)])
        weights[is_real] = torch.where(flags, self.plan.answer_weight, 1.0)
        ids, is_real, weights = ids.to(device), is_real.to(device), weights[:, 1:].to(device)
        with (
            autocast(device),
            sdpa_kernel(SDPBackend.MATH),  # the fused kernel's backward pass takes ten times as long here
        ):
            logits = self.net(ids[:, :-1], is_real[:, :-1]).logits
        is_target = weights > 0
        losses = F.cross_entropy(logits[is_target].float(), ids[:, 1:][is_target], reduction="none")
        return losses @ weights[is_target] / weights.sum()

    def _find_answers(self, row: Sequence[int]) -> list[bool]:
        """Return which tokens belong to an answer, the end of its line included."""
        flags, inside, width = [], False, len(self._marker)
        for place, token in enumerate(row):
            inside = inside or list(row[max(0, place - width) : place]) == self._marker
            flags.append(inside)
            inside = inside and token != self._speller.stop
        return flags
