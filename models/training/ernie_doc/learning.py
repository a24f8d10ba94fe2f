"""The steps of the training: MiniLM's states first, then spans; resumable."""

import random
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from models.device import learns_in_bfloat16
from models.ernie_doc.loading.minilm import minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.packing import Packing
from models.training.ernie_doc.batch import collate, draw_rows, read_memories
from models.training.ernie_doc.examples import Examples, Passage
from models.training.ernie_doc.losses import span_loss, state_loss
from models.training.ernie_doc.plan import Plan
from models.training.ernie_doc.teacher import Teacher
from models.training.progress import Progress, add_seconds

SMOOTHING = 0.95  # share of the running loss that stays with each step
STATE_WINDOWS = 3  # windows of each document whose states are learned in a step
LEAST_SLOPE = 0.02  # share of the rates at the end
SEEDS_APART = 1_000_003  # distance of the seeds of two trainings, larger than the number of steps
Say = Callable[[str], None]


def build_model(plan: Plan) -> ErnieDoc:
    """Return a model with MiniLM's weights where shapes allow, and random ones elsewhere."""
    torch.manual_seed(plan.seed)
    model = ErnieDoc(plan.model)
    model.load_state_dict(minilm_weights(model.state_dict()), strict=False)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(plan.frozen))
    return model


class Learning:
    """One training.

    Args:
        plan: The recipe.
        model: The model of `build_model`, on the device to train on.
        examples: Examples to read.
        packing: How windows become segments.
        say: Receives lines about the progress.
    """

    def __init__(self, plan: Plan, model: ErnieDoc, examples: Examples, packing: Packing, say: Say) -> None:
        self.plan, self.model, self.examples, self.packing, self._say = plan, model, examples, packing, say
        self.device = model.linear.weight.device
        encoder_names = minilm_weights(model.state_dict()).keys()
        parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.trainable = nn.ParameterDict({name.replace(".", "/"): p for name, p in parameters.items()})
        groups = [
            {"params": [p for name, p in parameters.items() if name in encoder_names], "peak": plan.lr},
            {
                "params": [p for name, p in parameters.items() if name not in encoder_names],
                "peak": plan.fresh_lr,
            },
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.lr, weight_decay=plan.decay)
        self._teacher = Teacher(packing, plan.model.memory, self.device)
        self.n_tokens = 0  # tokens of all segments that were read or learned from

    def run(self, progress: Progress, until: int | None = None) -> list[float]:
        """Train the model in place, from the last step that `progress` holds.

        Args:
            progress: State from which an interrupted training continues.
            until: Step before which to stop; None is the end of the plan.

        Returns:
            The loss of each step.
        """
        first, start, losses = progress.resume(self.trainable, self._optimizer), time.monotonic(), []
        last = self.plan.steps if until is None else until
        for step in range(first, last):
            self._set_learning_rates(step)
            losses.append(self._step(step))
            if (step + 1) % self.plan.keep_every == 0 or step + 1 == last:
                self._report(step + 1, losses, time.monotonic() - start)
                progress.keep(self.trainable, self._optimizer, step + 1)
                add_seconds(progress.folder, "steps", time.monotonic() - start)
                start, self.n_tokens = time.monotonic(), 0
        self.model.eval()
        return losses

    def _report(self, step: int, losses: Sequence[float], seconds: float) -> None:
        recent = losses[-self.plan.keep_every :]
        kind = "states" if step <= self.plan.adaptation_steps else "spans"
        self._say(
            f"step {step}/{self.plan.steps} {kind} loss {sum(recent) / len(recent):.3f} "
            f"{self.n_tokens / seconds:.0f} tokens/s"
        )

    def _set_learning_rates(self, step: int) -> None:
        """Set a linear warm-up, then a linear decay."""
        remaining = (self.plan.steps - step) / max(1, self.plan.steps - self.plan.warmup)
        slope = min((step + 1) / self.plan.warmup, max(LEAST_SLOPE, remaining))
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * slope

    def _step(self, step: int) -> float:
        torch.manual_seed(SEEDS_APART * self.plan.seed + step)  # a resumed training drops the same states
        passages = self.examples.step(step)
        self._optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=learns_in_bfloat16(self.device)):
            is_adapting = step < self.plan.adaptation_steps
            loss = self._adapt(step, passages) if is_adapting else self._point(step, passages)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.trainable.values(), 1.0)
        self._optimizer.step()
        return float(loss.detach())

    def _adapt(self, step: int, passages: Sequence[Passage]) -> Tensor:
        rng = random.Random(f"{self.plan.seed} windows {step}")
        counts = [len(self.packing.windows(len(passage.document))) for passage in passages]
        places_by_draw = [[rng.randrange(count) for count in counts] for _ in range(STATE_WINDOWS)]
        memories = self._read(passages, [max(column) for column in zip(*places_by_draw, strict=True)])
        self.n_tokens += STATE_WINDOWS * len(passages) * self.plan.model.segment
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
        self.n_tokens += len(rows) * self.plan.model.segment
        return span_loss(self.model, collate(rows, passages, memories, self.packing))

    def _read(self, passages: Sequence[Passage], last_windows: Sequence[int]) -> list[list[Tensor]]:
        self.model.eval()
        memories = read_memories(self.model, passages, self.packing, last_windows)
        self.model.train()
        self.n_tokens += sum(last_windows) * self.plan.model.segment
        return memories
