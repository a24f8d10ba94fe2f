"""The steps of the training: alignment of masks with candidates and with all answers, and spans; resumable.

The examples of a step follow from its number alone, so an interrupted training comes to the same weights.
"""

import random
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.device import learns_in_bfloat16
from models.thu_ernie.answering.checkpoint import minilm_weights
from models.thu_ernie.answering.network import ErnieAnswers
from models.thu_ernie.heads import cross_entropy
from models.training.progress import Progress, add_seconds
from models.training.thu_ernie.batch import collate_passages, collate_questions
from models.training.thu_ernie.passages import Passage, draw_window
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.prepare import Setup
from models.training.thu_ernie.questions import NO_TARGET, Example, pad_groups

SAY_EVERY_S = 45.0
LEAST_SLOPE = 0.03  # share of the rates at the end
SEEDS_APART = 1_000_003  # distance of the seeds of two trainings
DOCUMENTS_EVERY = 4  # every fourth step reads documents in place of composed passages
Say = Callable[[str], None]


def build_network(plan: Plan) -> ErnieAnswers:
    """Return a network with MiniLM's weights where it has them, and new ones in the entity stream and the heads."""
    torch.manual_seed(plan.seed)
    network = ErnieAnswers(plan.config)
    network.load_state_dict(minilm_weights(network.state_dict()), strict=False)
    gains = torch.full((plan.config.entity_size,), plan.query_gain)
    gains[0] = plan.threshold_gain
    network.cls.predictions_ent.transform.LayerNorm.weight.data.copy_(gains)
    for name, parameter in network.named_parameters():
        if name.endswith("intermediate.dense_ent.weight"):
            nn.init.normal_(parameter, std=plan.row_scale)
        parameter.requires_grad_(not name.startswith(plan.frozen))
    return network


class Learning:
    """One training.

    Args:
        plan: The recipe.
        setup: Facts, questions and texts.
        say: Receives lines about the progress.
    """

    def __init__(self, plan: Plan, setup: Setup, say: Say) -> None:
        self.plan, self.setup, self._say = plan, setup, say
        self.network = build_network(plan)
        encoder_names = minilm_weights(self.network.state_dict()).keys()
        parameters = {name: p for name, p in self.network.named_parameters() if p.requires_grad}
        self.trainable = nn.ParameterDict({name.replace(".", "/"): p for name, p in parameters.items()})
        groups = [
            {"params": [p for name, p in parameters.items() if name in encoder_names], "peak": plan.lr},
            {
                "params": [p for name, p in parameters.items() if name not in encoder_names],
                "peak": plan.fresh_lr,
            },
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.lr, weight_decay=plan.decay)
        self._is_quick = learns_in_bfloat16(torch.device("cpu"))
        self._n_tokens = 0
        self._tallies: list[tuple[float, float, float]] = []

    def run(self, progress: Progress | None, until: int | None = None) -> None:
        """Train in place, from the last step that `progress` holds, up to `until` or the end of the plan."""
        first = progress.resume(self.trainable, self._optimizer) if progress else 0
        last = self.plan.steps if until is None else min(until, self.plan.steps)
        start = last_report = time.monotonic()
        for step in range(first, last):
            self._step(step)
            now = time.monotonic()
            if now - last_report > SAY_EVERY_S or step + 1 == last:
                self._report(step + 1, now - last_report)
                last_report = now
            if progress and ((step + 1) % self.plan.keep_every == 0 or step + 1 == last):
                progress.keep(self.trainable, self._optimizer, step + 1)
                add_seconds(progress.folder, "steps", time.monotonic() - start)
                start = time.monotonic()
        self.network.eval().requires_grad_(False)

    def _report(self, step: int, seconds: float) -> None:
        near, every, span = (sum(column) / len(self._tallies) for column in zip(*self._tallies, strict=True))
        self._say(
            f"step {step}/{self.plan.steps}: candidates {near:.3f}, all answers {every:.3f}, spans {span:.3f}; "
            f"{self._n_tokens / seconds:.0f} tokens/s, {seconds / len(self._tallies):.2f} s a step"
        )
        self._tallies, self._n_tokens = [], 0

    def _step(self, step: int) -> None:
        torch.manual_seed(SEEDS_APART * self.plan.seed + step)  # a resumed training drops the same states
        rng = random.Random(f"{self.plan.seed} {step}")
        remaining = (self.plan.steps - step) / max(1, self.plan.steps - self.plan.warmup)
        slope = min((step + 1) / self.plan.warmup, max(LEAST_SLOPE, remaining))
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * slope
        self.network.train()
        self._optimizer.zero_grad(set_to_none=True)
        near, every = self._align(
            [self.setup.questions.draw(rng) for _ in range(self.plan.mixture.n_questions)]
        )
        (near + self.plan.all_weight * every).backward()  # type: ignore[no-untyped-call]
        span = self._point(self._draw_passages(step, rng))
        (self.plan.span_weight * span).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.trainable.values(), 1.0)
        self._optimizer.step()
        self._tallies.append((float(near.detach()), float(every.detach()), float(span.detach())))

    def _draw_passages(self, step: int, rng: random.Random) -> list[Passage]:
        if step % DOCUMENTS_EVERY == DOCUMENTS_EVERY - 1 and self.setup.texts:
            return [draw_window(self.setup.texts, rng) for _ in range(self.plan.mixture.n_windows)]
        return [self.setup.passages.compose(rng) for _ in range(self.plan.mixture.n_passages)]

    def _align(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
        settings = self.plan.settings
        layout = collate_questions(
            examples, self.setup.vocabulary, self.plan.config.entity_size, settings.question_room
        )
        self._n_tokens += layout.batch.ids.numel()
        with torch.autocast("cpu", torch.bfloat16, enabled=self._is_quick):
            queries = self.network.query(layout.batch, layout.places)
        queries = queries.float()
        return near_loss(queries, examples), all_loss(queries, examples, self.setup)

    def _point(self, passages: Sequence[Passage]) -> Tensor:
        settings = self.plan.settings
        layout = collate_passages(
            passages,
            self.setup.vectors,
            self.setup.vocabulary,
            self.plan.config.entity_size,
            settings.question_room,
            settings.window,
        )
        self._n_tokens += layout.batch.ids.numel()
        with torch.autocast("cpu", torch.bfloat16, enabled=self._is_quick):
            logits = self.network.point(layout.batch)
        logits = logits.float().masked_fill(~layout.batch.is_real[..., None], float("-inf"))
        return (
            cross_entropy(logits[..., 0], layout.spans[:, 0])
            + cross_entropy(logits[..., 1], layout.spans[:, 1])
        ) / 2


def near_loss(queries: Float[Tensor, "batch size"], examples: Sequence[Example]) -> Float[Tensor, ""]:
    """Return the cross-entropy of the right candidate among those of its question and the zero row."""
    vectors, is_real = pad_groups(examples)
    products = torch.einsum("bcos,bs->bco", vectors, queries)
    logits = products.masked_fill(~is_real, -1e4).logsumexp(-1)
    logits = torch.cat([queries.new_zeros(len(examples), 1), logits], 1)
    targets = torch.tensor([0 if e.target == NO_TARGET else e.target + 1 for e in examples])
    return F.cross_entropy(logits, targets)


def all_loss(
    queries: Float[Tensor, "batch size"], examples: Sequence[Example], setup: Setup
) -> Float[Tensor, ""]:
    """Return the mean of -log p(right objects) among all objects of the pack, for questions whose row tells them."""
    answers = setup.world.answers
    numbers = [
        number for number, example in enumerate(examples) if example.right and example.mask is not None
    ]
    if not numbers:
        return queries.sum() * 0
    logits = queries[numbers] @ setup.world.rows[answers].T
    is_right = torch.zeros_like(logits, dtype=torch.bool)
    for row, number in enumerate(numbers):
        is_right[row, torch.searchsorted(answers, torch.tensor(examples[number].right))] = True
    right = logits.masked_fill(~is_right, float("-inf")).logsumexp(1)
    return (logits.logsumexp(1) - right).mean()
