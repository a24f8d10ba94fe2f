"""The steps of the training: masked spans of free text first, then questions of people."""

import random

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast
from models.training.reading.examples import Examples
from models.training.reading.net import Batch, ReadingNet, collate
from models.training.reading.pretext import Pretext


class Learning(Steps):
    """One training; `pretext` has the rows of the first phase, `examples` those of the second."""

    def __init__(
        self, plan: Plan, net: ReadingNet, pretext: Pretext, examples: Examples, padding: int, say: Say
    ) -> None:
        heads = [*net.first.parameters(), *net.last.parameters()]
        body = [parameter for parameter in net.bert.parameters() if parameter.requires_grad]
        groups = [{"params": body, "peak": plan.lr}, {"params": heads, "peak": plan.head_lr}]
        super().__init__(plan, net, groups, say, lr=plan.lr, weight_decay=plan.decay, fused=True)
        self.plan, self.net = plan, net
        self._pretext, self._examples, self._padding = pretext, examples, padding
        self._device = net.first.weight.device

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of the rows of a step."""
        batch = self.draw(step).to(self._device)
        with autocast(self._device):
            return span_loss(self.net(batch), batch)

    def slope(self, step: int) -> float:
        """Return the share of the highest rate: in each phase a linear warm-up, then a linear decay."""
        plan = self.plan
        is_pretext = step < plan.pretext_steps
        first, last = (0, plan.pretext_steps) if is_pretext else (plan.pretext_steps, plan.steps)
        warmth, remainder = (step - first + 1) / plan.warmup, (last - step) / (last - first)
        return min(float(warmth), max(self.least_slope, float(remainder)))

    def draw(self, step: int) -> Batch:
        """Draw the rows of a step; a round of the second phase asks each written question once."""
        plan, rng = self.plan, random.Random(f"{self.plan.seed}/{step}")
        if step < plan.pretext_steps:
            return collate([self._pretext.draw(rng) for _ in range(plan.rows)], self._padding)
        round_, place = divmod((step - plan.pretext_steps) * plan.rows, len(self._examples))
        numbers = list(range(len(self._examples)))
        random.Random(f"{plan.seed}/round {round_}").shuffle(numbers)
        places = (numbers[(place + offset) % len(numbers)] for offset in range(plan.rows))
        return collate([self._examples.draw(number, rng) for number in places], self._padding)


def span_loss(logits: Float[Tensor, "question token 2"], batch: Batch) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of first and last token; no answer is the token [CLS]."""
    return F.cross_entropy(logits.permute(0, 2, 1).flatten(0, 1), batch.answers.flatten())
