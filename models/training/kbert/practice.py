"""Examples as the model reads them: ranked, planted, collated, and where the right option stands."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.kbert.batch import Batch, collate
from models.kbert.choice import choose, labels
from models.kbert.config import ReadingConfig
from models.kbert.planted import Planted, plant
from models.kbert.relevance import masked
from models.kbert.tokens import Tokens
from models.training.kbert.examples import Example
from models.training.kbert.ranks import Ranks

MENTIONS = 2


@dataclass(frozen=True)
class Sheet:
    """ranks: of the facts of each row, 0 where there are no more."""

    examples: Sequence[Example]
    planted: Sequence[Planted]
    batch: Batch
    ranks: Float[Tensor, "row fact"]

    def targets(self, spans_from: int) -> list[int]:
        """For each row the right option, as `Net.pointing` orders them."""
        width = self.batch.ids.shape[1]
        found = []
        for example, one in zip(self.examples, self.planted, strict=True):
            hung = next((n for n, h in enumerate(one.hung) if h.values[0] is example.target), None)
            span = _span(one, example.span) if example.span else None
            if hung is not None and example.target is not None:
                found.append(1 + hung)
            elif span is not None:
                found.append(spans_from + span[0] * width + span[1])
            else:
                found.append(0)
        return found


def sheet(
    examples: Sequence[Example], ranks: Ranks, tokens: Tokens, max_length: int, max_facts: int
) -> Sheet:
    wanted = [
        (masked(e.question, m.start, m.end), labels(m), None if e.honest else e.about)
        for e in examples
        for m in e.mentions
    ]
    given = iter(ranks.of(wanted))
    reading = ReadingConfig(max_length, max_facts)
    planted = []
    for example in examples:
        found = [next(given) for _ in example.mentions]
        chosen = choose(example.mentions, found, max_facts, MENTIONS)
        planted.append(plant(example.question, example.second, chosen, tokens, reading))
    most = max([1, *(len(one.hung) for one in planted)])
    table = [[h.rank for h in one.hung] + [0.0] * (most - len(one.hung)) for one in planted]
    return Sheet(
        examples, planted, collate([one.row for one in planted], tokens.padding), torch.tensor(table)
    )


def _span(one: Planted, span: tuple[int, int]) -> tuple[int, int] | None:
    """First and last token of the characters; None when they were cut off."""
    inside = [
        place
        for place, token in enumerate(one.row.tokens)
        if token.part == 1 and not token.injected and not token.tag
        if token.start >= span[0] and token.end <= span[1]
    ]
    return (inside[0], inside[-1]) if inside else None
