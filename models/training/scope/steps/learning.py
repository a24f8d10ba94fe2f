"""The steps of the judge's training: they end by the clock, until which the rate falls to zero, and can be resumed."""

import time
from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor

from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.progress import Progress
from models.training.kit.steps import SAY_EVERY, Steps, autocast
from models.training.scope.steps.batches import Batch
from models.training.scope.steps.net import Net

SAY_EVERY_S = 10.0


class Learning(Steps):
    """The training of a judge for so many seconds, on the device of its net."""

    def __init__(self, plan: Plan, net: Net, batches: Iterable[Batch], seconds: float, say: Say) -> None:
        head = [net.sides, net.marks, *net.out.parameters()]
        layers = [weight for weight in net.bert.parameters() if weight.requires_grad]
        groups = [{"params": layers, "peak": plan.lr}, {"params": head, "peak": plan.head_lr}]
        super().__init__(plan, net, groups, say, lr=plan.lr, weight_decay=0.01, fused=True)
        self._plan, self._net, self._batches, self._seconds = plan, net, batches, seconds
        self._start_s = 0.0

    @property
    def spent_s(self) -> float:
        """Return the seconds of this training, those before an interruption counted in."""
        return time.monotonic() - self._start_s

    def run(self, progress: Progress | None, until: int | None = None) -> list[float]:
        """Train in place until the seconds are spent, or before the step `until` of this run; return the losses."""
        spent_s = progress.resume(self.trainable, self._optimizer) if progress else 0
        self._start_s, losses = time.monotonic() - spent_s, list[float]()
        kept_s = said_s = float(spent_s)
        self._net.train()
        for batch in self._batches if spent_s < self._seconds else ():
            self._batch = batch.to(self._net.device)
            losses.append(self.take(len(losses)))
            now_s = self.spent_s
            is_last = now_s >= self._seconds or len(losses) == until
            if now_s - said_s > SAY_EVERY_S or is_last:
                said_s, recent = now_s, losses[-SAY_EVERY:]
                loss = sum(recent) / len(recent)
                self.say(f"{now_s:,.0f} of {self._seconds:,.0f} s: step {len(losses):,}, loss {loss:.4f}")
            if progress and (now_s - kept_s > self._plan.keep_every_s or is_last):
                kept_s = now_s
                progress.keep(self.trainable, self._optimizer, round(min(now_s, self._seconds)))
            if is_last:
                break
        self._net.eval()
        return losses

    def slope(self, step: int) -> float:
        """Return the share of the highest rate: a warm-up by steps, then the share of the time that is left."""
        warmth = float((step + 1) / self._plan.warmup)
        return min(warmth, max(0.0, 1 - self.spent_s / self._seconds))

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of a batch, at times in both orders of its texts, which then should score alike."""
        plan, is_same = self._plan, self._batch.is_same
        with autocast(self._net.device):
            logits = self._net(self._batch, 2 if step % plan.turn_every == 0 else 1)
        targets = is_same * (1 - 2 * plan.smoothing) + plan.smoothing
        loss = F.binary_cross_entropy_with_logits(logits, targets.expand(len(logits), -1))
        gap: Tensor = logits[0] - logits[-1]
        return loss + float(plan.order) * gap.square().mean()
