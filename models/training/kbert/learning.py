"""The steps of the training: adapters, pointer, weight of the rank and pair ranker together, resumable."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.kbert.query import link_mentions, mask_mention, rankable_labels
from models.kbert.row import Batch, QuestionRow, build_row, collate
from models.kit.text import Tokens
from models.training.kbert.examples import Example, Examples
from models.training.kbert.net import Net
from models.training.kbert.ranks import Ranks
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast

MENTIONS = 2
PAIRS = 0.5  # weight of their loss beside that of the singles


@dataclass(frozen=True)
class ExampleBatch:
    """Examples as the model reads them, with the ranks of each row's facts, padded with 0."""

    examples: Sequence[Example]
    rows: Sequence[QuestionRow]
    batch: Batch
    ranks: Float[Tensor, "row fact"]

    def targets(self) -> list[int]:
        """Return the place of each row's right option, as `Net.pointing` orders them."""
        targets = []
        for example, row in zip(self.examples, self.rows, strict=True):
            facts = [relation.values[0] for relation in row.relations]
            place = next((n for n, fact in enumerate(facts) if fact is example.target), None)
            targets.append(0 if place is None or example.target is None else 1 + place)
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


class Learning(Steps):
    """Trains a net on examples, whose facts are ranked."""

    def __init__(
        self, plan: Plan, net: Net, examples: Examples, ranks: Ranks, tokens: Tokens, say: Say
    ) -> None:
        parameters = [p for p in net.parameters() if p.requires_grad and p is not net.rank_weight]
        groups = [
            {"params": parameters, "peak": plan.lr},
            {"params": [net.rank_weight], "peak": plan.rank_lr, "weight_decay": 0.0},
        ]
        super().__init__(plan, net, groups, say, weight_decay=0.01)
        self.plan, self.net, self.tokens = plan, net, tokens
        self.examples, self.ranks = examples, ranks

    def learn(self, step: int) -> float:
        """Add the gradients of a step's singles and pairs."""
        total = 0.0
        losses = ((1.0, self._pointing_loss), (PAIRS, self._matching_loss))
        length, most_facts = self.plan.max_length, self.plan.mixture.most_facts
        for examples, (weight, loss_of) in zip(self.examples.step(step), losses, strict=True):
            batch = read_examples(examples, self.ranks, self.tokens, length, most_facts)
            with autocast():
                loss = weight * loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def _pointing_loss(self, batch: ExampleBatch) -> Tensor:
        options = self.net.pointing(batch.rows, batch.batch, batch.ranks)
        return F.cross_entropy(options, torch.tensor(batch.targets()))

    def _matching_loss(self, batch: ExampleBatch) -> Tensor:
        labels = torch.tensor([float(bool(example.is_right)) for example in batch.examples])
        return F.binary_cross_entropy_with_logits(self.net.match(batch.batch), labels)
