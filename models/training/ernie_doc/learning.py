"""The steps of the training: MiniLM's states first, then spans; resumable."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from models.device import learns_in_bfloat16
from models.ernie_doc.loading.minilm import minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.packing import Packing
from models.training.ernie_doc.batch import collate, draw_rows, read_memories
from models.training.ernie_doc.examples import Examples, Passage
from models.training.ernie_doc.losses import span_loss, state_loss
from models.training.ernie_doc.plan import Plan
from models.training.ernie_doc.teacher import Teacher
from models.training.harness.command import Say
from models.training.harness.steps import Steps, split_rates

STATE_WINDOWS = 3  # windows of each document whose states are learned in a step


def build_model(plan: Plan) -> ErnieDoc:
    """Return a model with MiniLM's weights where shapes allow, and random ones elsewhere."""
    torch.manual_seed(plan.seed)
    model = ErnieDoc(plan.model)
    model.load_state_dict(minilm_weights(model.state_dict()), strict=False)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(plan.frozen))
    return model


class Learning(Steps):
    """One training.

    Args:
        plan: The recipe.
        model: The model of `build_model`, on the device to train on.
        examples: Examples to read.
        packing: How windows become segments.
        say: Receives lines about the progress.
    """

    def __init__(self, plan: Plan, model: ErnieDoc, examples: Examples, packing: Packing, say: Say) -> None:
        rates = {"encoder": plan.lr, "fresh": plan.fresh_lr}
        groups = split_rates(model, rates, minilm_weights(model.state_dict()).keys())
        super().__init__(plan, model, groups, say, weight_decay=plan.decay)
        self.plan, self.model, self.examples, self.packing = plan, model, examples, packing
        self.device = model.linear.weight.device
        self._teacher = Teacher(packing, plan.model.memory, self.device)

    def learn(self, step: int) -> float:
        """Add the gradients of the states of a step, or of its spans."""
        passages = self.examples.step(step)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=learns_in_bfloat16(self.device)):
            is_adapting = step < self.plan.adaptation_steps
            loss = self._adapt(step, passages) if is_adapting else self._point(step, passages)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    def _adapt(self, step: int, passages: Sequence[Passage]) -> Tensor:
        rng = random.Random(f"{self.plan.seed} windows {step}")
        counts = [len(self.packing.windows(len(passage.document))) for passage in passages]
        places_by_draw = [[rng.randrange(count) for count in counts] for _ in range(STATE_WINDOWS)]
        memories = self._read(passages, [max(column) for column in zip(*places_by_draw, strict=True)])
        losses = [
            state_loss(self.model, self._teacher, passages, memories, self.packing, places)
            for places in places_by_draw
        ]
        return torch.stack(losses).mean()

    def _point(self, step: int, passages: Sequence[Passage]) -> Tensor:
        rng = random.Random(f"{self.plan.seed} rows {step}")
        rows = draw_rows(passages, self.packing, self.plan.mixture, rng)
        last_windows = [
            max((row.window for row in rows if row.passage == number), default=0)
            for number in range(len(passages))
        ]
        memories = self._read(passages, last_windows)
        return span_loss(self.model, collate(rows, passages, memories, self.packing))

    def _read(self, passages: Sequence[Passage], last_windows: Sequence[int]) -> list[list[Tensor]]:
        self.model.eval()
        memories = read_memories(self.model, passages, self.packing, last_windows)
        self.model.train()
        return memories
