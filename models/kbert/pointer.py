"""The answer as a span of the sentence tree: of the text itself or of one fact hung on it.

An object that the graph hung on a word can so be the answer, and a changed triple changes it at once. A span never
leaves its branch, its text or its separators. [CLS] stands for "no answer", as in Rajpurkar et al., Know What You
Don't Know (arXiv:1806.03822).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.kbert.batch import Batch
from models.kbert.encoder import Encoder
from models.kbert.graph import Fact
from models.kbert.row import Row, Token
from models.kbert.tags import CLS


@dataclass(frozen=True)
class Answer:
    """text is None for "no answer". fact: whose branch it was found in; None in the text itself.

    start, end: characters of the fact's text, or of text `part`. probability: among all spans and no answer.
    """

    text: str | None
    probability: float
    fact: Fact | None = None
    part: int = 0
    start: int = 0
    end: int = 0


class Pointer(nn.Module):
    """One linear map to a start and an end logit for each token."""

    def __init__(self, bert: Encoder) -> None:
        super().__init__()
        self.bert = bert
        self.pointer = nn.Linear(bert.config.hidden, 2)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token 2"]:
        logits: Tensor = self.pointer(self.bert.read(batch))
        return logits


def allowed_spans(rows: Sequence[Row], batch: Batch, longest: int) -> Bool[Tensor, "batch start end"]:
    """True where a span may begin and end. longest: tokens of the longest answer.

    Soft positions count on by one inside a branch and inside the text, facts in between or not.
    """
    length = batch.ids.shape[1]
    free = torch.tensor(
        [[not token.tag for token in row.tokens] + [False] * (length - len(row)) for row in rows]
    )
    free = free.to(batch.real.device)
    step = batch.positions[:, None, :] - batch.positions[:, :, None]
    one_branch = batch.branch[:, :, None] == batch.branch[:, None, :]
    one_text = batch.segments[:, :, None] == batch.segments[:, None, :]
    return one_branch & one_text & (step >= 0) & (step < longest) & free[:, :, None] & free[:, None, :]


def answers(
    logits: Float[Tensor, "batch token 2"], rows: Sequence[Row], batch: Batch, longest: int
) -> list[Answer]:
    """The best span of each row, or no answer where [CLS] is better than any."""
    start, end = logits.unbind(-1)
    spans = (start[:, :, None] + end[:, None, :]).masked_fill(
        ~allowed_spans(rows, batch, longest), float("-inf")
    )
    spans[:, 0, 0] = _nothing(start + end, rows)
    chances, best = torch.softmax(spans.flatten(1), -1).max(-1)
    width = logits.shape[1]
    return [
        _answer(row, place // width, place % width, chance)
        for row, place, chance in zip(rows, best.tolist(), chances.tolist(), strict=True)
    ]


def _nothing(both: Float[Tensor, "batch token"], rows: Sequence[Row]) -> Float[Tensor, " batch"]:
    """The score of no answer."""
    if any(not row.tokens[0].tag or row.tokens[0].text != CLS for row in rows):
        raise ValueError(f"a row that is pointed into begins with {CLS}: read it as `single` or as `pair`")
    return both[:, 0]


def _answer(row: Row, first: int, last: int, chance: float) -> Answer:
    begin, end = row.tokens[first], row.tokens[last]
    if begin.tag:
        return Answer(None, chance)
    fact, text = _source(row, begin)
    return Answer(text[begin.start : end.end], chance, fact, begin.part, begin.start, end.end)


def _source(row: Row, token: Token) -> tuple[Fact | None, str]:
    if not token.injected:
        return None, row.texts[token.part]
    fact = row.tree.facts[token.branch - 1]
    return fact, fact.text
