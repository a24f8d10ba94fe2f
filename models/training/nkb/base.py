"""Phase one: the backbone learns the base facts from their questions and masked statements."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast
from models.training.nkb.states import States
from models.training.nkb.texts import Line

IGNORED = -100  # label that the loss passes over


@dataclass(frozen=True)
class Corpus:
    """Texts with their states and the token ids of their answers; row i of each belongs to lines[i]."""

    lines: Sequence[Line]
    states: States
    answers: Sequence[Sequence[int]]

    def labels(self, rows: Sequence[int]) -> Int[Tensor, "batch token"]:
        width = max(len(self.answers[row]) for row in rows)
        return torch.tensor([[*self.answers[r], *[IGNORED] * (width - len(self.answers[r]))] for r in rows])


class Seq2Seq(nn.Module):
    """The backbone, which is asked lines of a corpus."""

    def __init__(self, t5: T5ForConditionalGeneration) -> None:
        super().__init__()
        self.t5 = t5

    def forward(self, corpus: Corpus, rows: Sequence[int]) -> Float[Tensor, ""]:
        """Return the loss of some lines."""
        states, mask = corpus.states.batch(rows)
        read = BaseModelOutput(last_hidden_state=self.t5.encoder(states))
        loss: Tensor = self.t5(encoder_outputs=read, attention_mask=mask, labels=corpus.labels(rows)).loss
        return loss


class Learning(Steps):
    """Trains the backbone; each fact is drawn in some of its texts in each epoch."""

    def __init__(
        self,
        plan: Plan,
        t5: T5ForConditionalGeneration,
        corpus: Corpus,
        facts: Sequence[Sequence[int]],
        say: Say,
    ) -> None:
        base, model = plan.base, Seq2Seq(t5)
        n_rows = sum(min(base.draws, len(rows)) for rows in facts)
        self._per_epoch = math.ceil(n_rows / base.batch)
        steps = {"steps": self._per_epoch * base.epochs, "keep_every": self._per_epoch, "seed": plan.seed}
        groups = [{"params": list(model.parameters()), "peak": base.lr}]
        self.plan = base.change(**steps)
        super().__init__(self.plan, model, groups, say, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
        self._model, self._corpus, self._facts = model, corpus, facts
        self._batches: tuple[int, list[list[int]]] = (-1, [])

    def learn(self, step: int) -> float:
        """Add the gradients of a batch."""
        epoch, place = divmod(step, self._per_epoch)
        if self._batches[0] != epoch:
            self._batches = epoch, list(self._draw(epoch))
        with autocast():
            loss = self._model(self._corpus, self._batches[1][place])
        loss.backward()
        return float(loss.detach())

    def _draw(self, epoch: int) -> Iterator[list[int]]:
        """Yield the batches of one epoch, shuffled."""
        rng, draws = random.Random(f"{self.plan.seed}/{epoch}"), self.plan.draws
        rows = [row for choices in self._facts for row in rng.sample(choices, min(draws, len(choices)))]
        rng.shuffle(rows)
        for start in range(0, len(rows), self.plan.batch):
            yield rows[start : start + self.plan.batch]
