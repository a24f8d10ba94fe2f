"""The steps of the training: adapters, pointer, weight of the rank and pair ranker together, resumable."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.kbert.query import link_mentions, mask_mention, rankable_labels
from models.kbert.row import Batch, QuestionRow, build_row, collate
from models.kbert.text import Tokens
from models.training.kbert.examples import Example, Examples
from models.training.kbert.net import Net
from models.training.kbert.plan import Plan
from models.training.kbert.ranks import Ranks
from models.training.progress import Progress, add_seconds

MENTIONS = 2
CONTEXTS, PAIRS = 0.5, 0.5  # weights of their losses beside that of the singles
SMOOTHING = 0.98  # share of the running loss that stays with each step


@dataclass(frozen=True)
class ExampleBatch:
    """Examples as the model reads them, with the ranks of each row's facts, padded with 0."""

    examples: Sequence[Example]
    rows: Sequence[QuestionRow]
    batch: Batch
    ranks: Float[Tensor, "row fact"]

    def targets(self, spans_from: int) -> list[int]:
        """Return the place of each row's right option, as `Net.pointing` orders them."""
        width = self.batch.ids.shape[1]
        targets = []
        for example, row in zip(self.examples, self.rows, strict=True):
            facts = [relation.values[0] for relation in row.relations]
            place = next((n for n, fact in enumerate(facts) if fact is example.target), None)
            span = find_span(row, example.span) if example.span else None
            if place is not None and example.target is not None:
                targets.append(1 + place)
            elif span is not None:
                targets.append(spans_from + span[0] * width + span[1])
            else:
                targets.append(0)
        return targets


def read_examples(
    examples: Sequence[Example], ranks: Ranks, tokens: Tokens, max_length: int, max_facts: int
) -> ExampleBatch:
    queries = [
        (
            mask_mention(example.question, mention.start, mention.end),
            rankable_labels(mention),
            None if example.is_honest else example.about,
        )
        for example in examples
        for mention in example.mentions
    ]
    query_ranks = iter(ranks.rank(queries))
    rows = []
    for example in examples:
        mention_ranks = [next(query_ranks) for _ in example.mentions]
        links = link_mentions(example.mentions, mention_ranks, max_facts, MENTIONS)
        rows.append(build_row(example.question, example.second, links, tokens, max_length))
    width = max([1, *(len(row.relations) for row in rows)])
    table = [[relation.rank for relation in row.relations] for row in rows]
    padded = torch.tensor([row_ranks + [0.0] * (width - len(row_ranks)) for row_ranks in table])
    return ExampleBatch(examples, rows, collate([row.row for row in rows], tokens.padding), padded)


def find_span(row: QuestionRow, span: tuple[int, int]) -> tuple[int, int] | None:
    """Find first and last token of some characters of the second text; None if they were cut off."""
    places = [
        place
        for place, token in enumerate(row.row.tokens)
        if token.part == 1 and not token.is_injected and not token.is_tag
        if token.start >= span[0] and token.end <= span[1]
    ]
    return (places[0], places[-1]) if places else None


class Learning:
    def __init__(self, plan: Plan, net: Net, examples: Examples, ranks: Ranks, tokens: Tokens) -> None:
        self.plan, self.net, self.tokens = plan, net, tokens
        self.examples, self.ranks = examples, ranks
        parameters = [p for p in net.parameters() if p.requires_grad and p is not net.rank_weight]
        groups: list[dict[str, Any]] = [
            {"params": parameters},
            {"params": [net.rank_weight], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.lr, weight_decay=0.01)

    def run(self, progress: Progress, say: Callable[[str], None]) -> None:
        """Train in place, from the last steps that `progress` holds."""
        parameters = self.net.trainable()
        first = progress.resume(parameters, self._optimizer)
        start, running = time.monotonic(), 0.0
        self.net.train()
        for step in range(first, self.plan.steps):
            self._set_learning_rate(step)
            loss = self._step(step)
            running = loss if step == first else SMOOTHING * running + (1 - SMOOTHING) * loss
            if (step + 1) % 50 == 0:
                weight = float(self.net.rank_weight.detach())
                say(f"step {step + 1}/{self.plan.steps} loss {running:.3f} rank weight {weight:.1f}")
            if (step + 1) % self.plan.keep_every == 0 or step + 1 == self.plan.steps:
                progress.keep(parameters, self._optimizer, step + 1)
                add_seconds(progress.folder, "steps", time.monotonic() - start)
                start = time.monotonic()
        self.net.eval()

    def _set_learning_rate(self, step: int) -> None:
        """Set the rate: a linear warm-up, then a linear decay."""
        remaining = (self.plan.steps - step) / max(1, self.plan.steps - self.plan.warmup)
        slope = min((step + 1) / self.plan.warmup, max(0.02, remaining))
        for group, lr in zip(self._optimizer.param_groups, (self.plan.lr, self.plan.rank_lr), strict=True):
            group["lr"] = lr * slope

    def _step(self, step: int) -> float:
        batches = [
            read_examples(
                examples, self.ranks, self.tokens, self.plan.max_length, self.plan.mixture.most_facts
            )
            for examples in self.examples.step(step)
        ]
        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        losses = ((1.0, self._pointing_loss), (CONTEXTS, self._pointing_loss), (PAIRS, self._matching_loss))
        for batch, (weight, loss_of) in zip(batches, losses, strict=True):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = weight * loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        nn.utils.clip_grad_norm_([p for p in self.net.parameters() if p.requires_grad], 1.0)
        self._optimizer.step()
        return total

    def _pointing_loss(self, batch: ExampleBatch) -> Tensor:
        options, spans_from = self.net.pointing(batch.rows, batch.batch, batch.ranks)
        return F.cross_entropy(options, torch.tensor(batch.targets(spans_from)))

    def _matching_loss(self, batch: ExampleBatch) -> Tensor:
        labels = torch.tensor([float(bool(example.is_right)) for example in batch.examples])
        return F.binary_cross_entropy_with_logits(self.net.match(batch.batch), labels)
