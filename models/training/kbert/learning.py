"""The steps of the training: adapters, pointer, weight of the rank and pair ranker together, resumable."""

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.kbert.tokens import Tokens
from models.training import spent
from models.training.kbert.examples import Examples
from models.training.kbert.net import Net, pointing_loss
from models.training.kbert.plan import Plan
from models.training.kbert.practice import Sheet, sheet
from models.training.kbert.ranks import Ranks
from models.training.progress import Progress

CONTEXTS, PAIRS = 0.5, 0.5  # weights of their losses beside that of the singles
SMOOTHED = 0.98  # how much of the running loss stays with each step


class Learning:
    def __init__(self, plan: Plan, net: Net, examples: Examples, ranks: Ranks, tokens: Tokens) -> None:
        self.plan, self.net, self.tokens = plan, net, tokens
        self.examples, self.ranks = examples, ranks
        others = [p for p in net.parameters() if p.requires_grad and p is not net.rank_weight]
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": [net.rank_weight], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.lr, weight_decay=0.01)

    def run(self, progress: Progress, say: Callable[[str], None]) -> None:
        """In place; goes on behind the last steps that `progress` holds."""
        kept = self.net.trained()
        first = progress.resume(kept, self._optimizer)
        started, running = time.monotonic(), 0.0
        self.net.train()
        for step in range(first, self.plan.steps):
            self._pace(step)
            loss = self._step(step)
            running = loss if step == first else SMOOTHED * running + (1 - SMOOTHED) * loss
            if (step + 1) % 50 == 0:
                weight = float(self.net.rank_weight.detach())
                say(f"step {step + 1}/{self.plan.steps} loss {running:.3f} rank weight {weight:.1f}")
            if (step + 1) % self.plan.keep_every == 0 or step + 1 == self.plan.steps:
                progress.keep(kept, self._optimizer, step + 1)
                spent.add(progress.folder, "steps", time.monotonic() - started)
                started = time.monotonic()
        self.net.eval()

    def _pace(self, step: int) -> None:
        """Linear warm-up, then linear decay."""
        left = (self.plan.steps - step) / max(1, self.plan.steps - self.plan.warmup)
        slope = min((step + 1) / self.plan.warmup, max(0.02, left))
        for group, lr in zip(self._optimizer.param_groups, (self.plan.lr, self.plan.rank_lr), strict=True):
            group["lr"] = lr * slope

    def _step(self, step: int) -> float:
        sheets = [
            sheet(some, self.ranks, self.tokens, self.plan.max_length, self.plan.mixture.most_facts)
            for some in self.examples.step(step)
        ]
        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for read, weight, loss_of in zip(
            sheets, (1.0, CONTEXTS, PAIRS), (self._pointing, self._pointing, self._fitting), strict=True
        ):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = weight * loss_of(read)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        nn.utils.clip_grad_norm_([p for p in self.net.parameters() if p.requires_grad], 1.0)
        self._optimizer.step()
        return total

    def _pointing(self, read: Sheet) -> Tensor:
        options, spans_from = self.net.pointing(read.planted, read.batch, read.ranks)
        return pointing_loss(options, read.targets(spans_from))

    def _fitting(self, read: Sheet) -> Tensor:
        labels = torch.tensor([float(bool(one.fits)) for one in read.examples])
        return F.binary_cross_entropy_with_logits(self.net.fits(read.batch), labels)
