"""Phase two, the paper's experiment: facts kept out of the base go into the bank alone, while the base is frozen.

Dai et al. (arXiv:2208.00399), section 4, by salient span masking: statements with the object masked, and the training
phrasings with the answer as the span left out. The bank sits beside the last decoder layer, so its input (n) and the
residual that it adds to (s) depend on frozen weights only: both are computed once, and an epoch is a few products.

Base facts are replayed, for a ReLU bank beside a frozen layer fires on old questions too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.nkb.bank import Bank
from models.nkb.decode import Decoder
from models.nkb.trace import trace
from models.training.kit.plan import Plan
from models.training.kit.steps import autocast
from models.training.nkb.base import IGNORED, Corpus

TEXTS_PER_PASS = 128  # texts per pass
REPLAYED_ROWS = 3  # texts of each replayed fact


@dataclass(frozen=True)
class Positions:
    """Answer positions of many texts: bank input, residual below the bank, and the expected token."""

    n: Float[Tensor, "position d"]
    s: Float[Tensor, "position d"]
    targets: Int[Tensor, " position"]

    def __len__(self) -> int:
        return len(self.targets)

    def pick(self, rows: Tensor) -> "Positions":
        return Positions(self.n[rows], self.s[rows], self.targets[rows])


def positions(t5: T5ForConditionalGeneration, corpus: Corpus, rows: Sequence[int]) -> Positions:
    """Read every answer position of some lines, with the bank silent."""
    decoder = Decoder(t5)
    parts = [
        _positions(t5, decoder, corpus, rows[start : start + TEXTS_PER_PASS])
        for start in range(0, len(rows), TEXTS_PER_PASS)
    ]
    return Positions(
        torch.cat([p.n for p in parts]),
        torch.cat([p.s for p in parts]),
        torch.cat([p.targets for p in parts]),
    )


@torch.no_grad()
def _positions(
    t5: T5ForConditionalGeneration, decoder: Decoder, corpus: Corpus, rows: Sequence[int]
) -> Positions:
    states, mask = corpus.states.batch(rows)
    labels = corpus.labels(rows)
    activations = trace(decoder, t5.encoder(states), mask, labels.clamp(min=0))
    real = labels != IGNORED
    return Positions(activations.n[real], activations.s[real], labels[real])


def train(
    bank: Bank,
    head: Callable[[Tensor], Tensor],
    new_facts: Positions,
    old_facts: Positions,
    recipe: Plan,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Train the bank in place; `head` gives the logits of an input of the final norm."""
    torch.manual_seed(seed)
    bank.requires_grad_(True)
    optimizer = torch.optim.Adam(bank.parameters(), lr=recipe.lr)
    per_epoch = len(new_facts) // recipe.batch + 1
    slope = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.lr, recipe.epochs * per_epoch, pct_start=0.1
    )
    for epoch in range(recipe.epochs):
        total = 0.0
        for rows in torch.split(torch.randperm(len(new_facts)), recipe.batch):
            old = old_facts.pick(torch.randint(len(old_facts), (recipe.replay_ratio * len(rows),)))
            loss = _loss(bank, head, new_facts.pick(rows), old, recipe.quiet)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            slope.step()
            total += float(loss.detach())
        say(f"bank epoch {epoch + 1}/{recipe.epochs} loss {total / per_epoch:.4f}")
    bank.requires_grad_(False)


def _loss(
    bank: Bank, head: Callable[[Tensor], Tensor], new: Positions, old: Positions, quiet: float
) -> Float[Tensor, ""]:
    with autocast():
        ex = bank(torch.cat([new.n, old.n]))
        logits = head(torch.cat([new.s, old.s]) + ex)
    loss = F.cross_entropy(logits.float(), torch.cat([new.targets, old.targets]))
    total: Tensor = loss + quiet * ex[len(new) :].float().square().sum(-1).mean()
    return total
