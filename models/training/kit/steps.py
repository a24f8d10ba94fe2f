"""The steps of a training: resumed, slowed down, clipped, reported and kept in the same way for every system."""

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from models.device import learns_in_bfloat16
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.progress import Progress, add_seconds

CPU = torch.device("cpu")
CLIP = 1.0  # norm to which gradients are cut
SAY_EVERY = 50  # steps between two lines of progress
SEEDS_APART = 1_000_003  # distance of the seeds of two trainings, larger than the number of steps
Group = dict[str, Any]  # parameters of one learning rate, whose highest value is `peak`


class Steps(ABC):
    """A training that comes to the same weights whether it was interrupted or not; `options` are AdamW's.

    Its plan says `seed`, `steps`, `keep_every` and `warmup`.
    """

    least_slope = 0.02  # share of the rates at the end

    def __init__(
        self, plan: Any, network: nn.Module, groups: Sequence[Group], say: Say, **options: Any
    ) -> None:
        self.schedule, self.trainable, self.say = plan, trainable(network), say
        self._network, self._optimizer = network, torch.optim.AdamW(groups, **options)

    @abstractmethod
    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of a step."""

    def losses_at(self, step: int) -> Iterator[Tensor]:
        """Yield the parts of a step's loss, of which each adds its gradients before the next is computed."""
        yield self.loss_at(step)

    def run(self, progress: Progress | None, until: int | None = None) -> list[float]:
        """Train in place, from the last step of `progress` to the one before `until`; return the loss of each step."""
        plan, losses = self.schedule, list[float]()
        first = progress.resume(self.trainable, self._optimizer) if progress else 0
        last = plan.steps if until is None else min(until, plan.steps)
        start = time.monotonic()
        self._network.train()
        for step in range(first, last):
            losses.append(self.take(step))
            is_last = step + 1 == last
            if (step + 1) % SAY_EVERY == 0 or is_last:
                recent = losses[-SAY_EVERY:]
                self.say(f"step {step + 1}/{plan.steps} loss {sum(recent) / len(recent):.3f}")
            if progress and ((step + 1) % plan.keep_every == 0 or is_last):
                progress.keep(self.trainable, self._optimizer, step + 1)
                add_seconds(progress.folder, "steps", time.monotonic() - start)
                start = time.monotonic()
        self._network.eval().requires_grad_(False)
        return losses

    def take(self, step: int) -> float:
        """Take one step, and return its loss."""
        torch.manual_seed(SEEDS_APART * self.schedule.seed + step)  # a resumed training drops the same states
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * self.slope(step)
        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for loss in self.losses_at(step):
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        nn.utils.clip_grad_norm_(self.trainable.values(), CLIP)
        self._optimizer.step()
        return total

    def slope(self, step: int) -> float:
        """Return the share of the highest rate: a linear warm-up, then a linear decay."""
        plan = self.schedule
        remaining = (plan.steps - step) / max(1, plan.steps - plan.warmup)
        return float(min((step + 1) / plan.warmup, max(self.least_slope, remaining)))


class Epochs(Steps):
    """Steps in epochs of `per_epoch` batches, which are drawn anew for each; a plan has `steps` or `epochs`."""

    def __init__(
        self,
        plan: Plan,
        per_epoch: int,
        network: nn.Module,
        groups: Sequence[Group],
        say: Say,
        **options: Any,
    ) -> None:
        if "steps" not in plan.numbers:
            plan = plan.change(steps=per_epoch * plan.epochs, keep_every=per_epoch)
        super().__init__(plan, network, groups, say, **options)
        self.plan, self.per_epoch = plan, per_epoch
        self._epoch: tuple[int, Sequence[Any]] = (-1, ())

    @abstractmethod
    def draw(self, epoch: int) -> Sequence[Any]:
        """Draw the batches of an epoch, from its number and from the network as the epoch before left it."""

    @abstractmethod
    def loss_of(self, batch: Any) -> Tensor:
        """Compute the loss of a batch."""

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of the batch of a step."""
        epoch, place = divmod(step, self.per_epoch)
        if self._epoch[0] != epoch:
            self._epoch = epoch, self.draw(epoch)
        return self.loss_of(self._epoch[1][place])


def autocast(device: torch.device = CPU) -> torch.autocast:
    """Compute in bfloat16 where the hardware multiplies in it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=learns_in_bfloat16(device))


def trainable(network: nn.Module) -> nn.ParameterDict:
    """Return the parameters that training changes, by name."""
    parameters = network.named_parameters()
    return nn.ParameterDict({name.replace(".", "/"): p for name, p in parameters if p.requires_grad})


def split_rates(network: nn.Module, rates: Mapping[str, float], encoder: Collection[str]) -> list[Group]:
    """Return the parameters that come from an encoder, and the fresh ones, each with their highest rate."""
    parameters = {name: p for name, p in network.named_parameters() if p.requires_grad}
    return [
        {
            "params": [p for name, p in parameters.items() if (name in encoder) is is_encoder],
            "peak": rates[kind],
        }
        for kind, is_encoder in (("encoder", True), ("fresh", False))
    ]
