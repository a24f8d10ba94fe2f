"""The two phases of nkb: the backbone learns the base facts, then the bank alone learns the facts held back.

The second is the paper's experiment (Dai et al., arXiv:2208.00399, section 4), by salient span masking: statements with
the object masked, and the training phrasings with the answer as the span left out. The bank sits beside the last
decoder layer, so its input (n) and the residual that it adds to (s) depend on frozen weights only: both are computed
once, and an epoch is a few products. Base facts are replayed, for a ReLU bank beside a frozen layer fires on old
questions too.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from more_itertools import chunked
from torch import Tensor
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.nkb.bank import Bank
from models.nkb.decode import Decoder
from models.nkb.trace import trace
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Epochs, autocast
from models.training.nkb.states import States
from models.training.nkb.texts import Line

IGNORED = -100  # label that the loss passes over
TEXTS_PER_PASS = 128  # texts per pass
REPLAYED_ROWS = 3  # texts of each replayed fact


@dataclass(frozen=True)
class Corpus:
    """Texts with their states and the token ids of their answers; row i of each belongs to lines[i]."""

    lines: Sequence[Line]
    states: States
    answers: Sequence[Sequence[int]]

    def labels(self, rows: Sequence[int]) -> Int[Tensor, "batch token"]:
        width = max(len(self.answers[row]) for row in rows)
        return torch.tensor([[*self.answers[r], *[IGNORED] * (width - len(self.answers[r]))] for r in rows])


class Base(Epochs):
    """Trains the backbone; each fact is drawn in some of its texts in each epoch."""

    def __init__(
        self,
        plan: Plan,
        t5: T5ForConditionalGeneration,
        corpus: Corpus,
        facts: Sequence[Sequence[int]],
        say: Say,
    ) -> None:
        base, self._t5, self._corpus, self._facts = plan.base.change(seed=plan.seed), t5, corpus, facts
        per_epoch = math.ceil(sum(min(base.draws, len(rows)) for rows in facts) / base.batch)
        groups = [{"params": list(t5.parameters()), "peak": base.lr}]
        super().__init__(base, per_epoch, t5, groups, say, betas=(0.9, 0.98), weight_decay=0.01, fused=True)

    def draw(self, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch, shuffled."""
        rng, plan = random.Random(f"{self.plan.seed}/{epoch}"), self.plan
        rows = [row for texts in self._facts for row in rng.sample(texts, min(plan.draws, len(texts)))]
        rng.shuffle(rows)
        return list(chunked(rows, plan.batch))

    def loss_of(self, batch: list[int]) -> Float[Tensor, ""]:
        """Return the loss of some lines."""
        states, mask = self._corpus.states.batch(batch)
        with autocast():
            read = BaseModelOutput(last_hidden_state=self._t5.encoder(states))
            labels = self._corpus.labels(batch)
            loss: Tensor = self._t5(encoder_outputs=read, attention_mask=mask, labels=labels).loss
        return loss


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


@torch.no_grad()
def read_positions(t5: T5ForConditionalGeneration, corpus: Corpus, rows: Sequence[int]) -> Positions:
    """Read every answer position of some lines, with the bank silent."""
    decoder, parts = Decoder(t5), []
    for part in chunked(rows, TEXTS_PER_PASS):
        (states, mask), labels = corpus.states.batch(part), corpus.labels(part)
        activations = trace(decoder, t5.encoder(states), mask, labels.clamp(min=0))
        real = labels != IGNORED
        parts.append((activations.n[real], activations.s[real], labels[real]))
    return Positions(*map(torch.cat, zip(*parts, strict=True)))


class Injection(Epochs):
    """Trains the bank; `head` gives the logits of an input of the final norm."""

    def __init__(
        self,
        plan: Plan,
        bank: Bank,
        head: Callable[[Tensor], Tensor],
        new_facts: Positions,
        old_facts: Positions,
        say: Say,
    ) -> None:
        self._bank, self._head, self._new, self._old = bank.requires_grad_(True), head, new_facts, old_facts
        injection = plan.injection.change(seed=plan.seed)
        groups = [{"params": list(bank.parameters()), "peak": injection.lr}]
        per_epoch = math.ceil(len(new_facts) / injection.batch)
        super().__init__(injection, per_epoch, bank, groups, say, weight_decay=0.0)

    def draw(self, epoch: int) -> Sequence[Tensor]:
        """Return the new positions of each batch of an epoch."""
        source = torch.Generator().manual_seed(epoch)
        return torch.split(torch.randperm(len(self._new), generator=source), self.plan.batch)

    def loss_of(self, batch: Tensor) -> Float[Tensor, ""]:
        """Return the loss of new positions and of replayed ones, to which the bank should add little."""
        new = self._new.pick(batch)
        old = self._old.pick(torch.randint(len(self._old), (self.plan.replay_ratio * len(batch),)))
        with autocast():
            ex = self._bank(torch.cat([new.n, old.n]))
            logits = self._head(torch.cat([new.s, old.s]) + ex)
        loss = F.cross_entropy(logits.float(), torch.cat([new.targets, old.targets]))
        total: Tensor = loss + self.plan.quiet * ex[len(new) :].float().square().sum(-1).mean()
        return total
