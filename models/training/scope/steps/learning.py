"""The steps of the judge's training: they end by the clock, until which the rate falls to zero, and can be resumed."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.device import learns_in_bfloat16
from models.training.kit.progress import Progress
from models.training.scope.plan import Plan
from models.training.scope.steps.net import Net, PairTokens
from models.training.scope.steps.supply import Batch

SMOOTHING = 0.99  # share of the running loss that stays with each step
SAY_EVERY_S = 10.0
Say = Callable[[str], None]


@dataclass
class Clock:
    """Seconds of a training, those before an interruption counted in."""

    budget_s: float
    start_s: float

    @staticmethod
    def resume(budget_s: float, spent_s: float) -> "Clock":
        return Clock(budget_s, time.monotonic() - spent_s)

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self.start_s

    @property
    def remainder(self) -> float:
        """Share of the budget that is left."""
        return max(0.0, 1 - self.spent_s / self.budget_s)


class Learning:
    """The training of a judge on the device of its net."""

    def __init__(self, plan: Plan, net: Net) -> None:
        self._plan, self._net = plan, net
        head = [net.sides, *net.out.parameters()]
        groups = [{"params": list(net.layers.parameters())}, {"params": head}]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.lr, weight_decay=0.01, fused=True)

    def run(self, progress: Progress, batches: Iterable[Batch], seconds: float, say: Say) -> int:
        """Train in place until the seconds are spent, from the state that `progress` holds.

        Returns:
            Number of steps in this run.
        """
        clock = Clock.resume(seconds, progress.resume(self._net, self._optimizer))
        kept_s = said_s = clock.spent_s
        step, running, n_pairs = 0, torch.zeros((), device=self._net.device), 0
        self._net.train()
        for batch in batches if clock.remainder else ():
            running = running.lerp(
                self._step(step, clock.remainder, batch), max(1 - SMOOTHING, 1 / (step + 1))
            )
            step, n_pairs = step + 1, n_pairs + len(batch.is_same)
            if clock.spent_s - said_s > SAY_EVERY_S or not clock.remainder:
                said_s = clock.spent_s
                say(
                    f"{said_s:,.0f} of {seconds:,.0f} s: step {step:,}, {n_pairs:,} pairs, loss {float(running):.4f}"
                )
            if clock.spent_s - kept_s > self._plan.keep_every_s or not clock.remainder:
                kept_s = clock.spent_s
                progress.keep(self._net, self._optimizer, round(min(kept_s, seconds)))
            if not clock.remainder:
                break
        self._net.eval()
        return step

    def _step(self, step: int, remainder: float, batch: Batch) -> Tensor:
        """Learn a batch, at times in both orders of its texts, and return the loss."""
        plan, device = self._plan, self._net.device
        slope = min((step + 1) / plan.warmup, remainder)
        for group, lr in zip(self._optimizer.param_groups, (plan.lr, plan.head_lr), strict=True):
            group["lr"] = lr * slope
        tokens = PairTokens.of(batch.ids, batch.first, batch.length, device)
        is_turned = step % plan.turn_every == 0
        with torch.autocast(device.type, torch.bfloat16, enabled=learns_in_bfloat16(device)):
            logits = self._net(tokens.in_both_orders() if is_turned else tokens).view(-1, len(batch.is_same))
        targets = torch.from_numpy(batch.is_same).to(device) * (1 - 2 * plan.smoothing) + plan.smoothing
        loss = F.binary_cross_entropy_with_logits(logits, targets.expand(len(logits), -1))
        total = loss + plan.order * (logits[0] - logits[-1]).square().mean()
        self._optimizer.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(self._net.parameters(), 1.0)
        self._optimizer.step()
        return loss.detach()
