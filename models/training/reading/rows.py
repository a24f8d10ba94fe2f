"""Rows of tokens with questions at some of their places, and batches of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

NO_ANSWER = (0, 0)  # span of [CLS], which stands for no answer


@dataclass(frozen=True)
class Row:
    """Tokens that are read together."""

    ids: Sequence[int]  # ids of the tokens, [CLS] first
    asks: Sequence[int]  # places of the tokens whose states are the questions
    # First and last place of the answer of each question; `NO_ANSWER` if there is none
    answers: Sequence[tuple[int, int]]
    first: int  # first place of the text, before which no answer lies
    last: int  # place behind the text


@dataclass(frozen=True)
class Batch:
    """Rows of one step."""

    ids: Int[Tensor, "batch token"]  # ids of the tokens, padded
    is_real: Bool[Tensor, "batch token"]  # false at padding
    rows: Int[Tensor, " question"]  # row of each question
    asks: Int[Tensor, " question"]  # place of each question in its row
    answers: Int[Tensor, "question 2"]  # first and last place of each answer
    may_answer: Bool[Tensor, "question token"]  # for each question, where an answer may lie

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


def collate(rows: Sequence[Row], padding: int) -> Batch:
    """Make a batch of rows."""
    ids = pad_sequence([torch.tensor(row.ids) for row in rows], batch_first=True, padding_value=padding)
    places = torch.arange(ids.shape[1])
    lengths = torch.tensor([len(row.ids) for row in rows])
    numbers = torch.tensor([number for number, row in enumerate(rows) for _ in row.asks])
    firsts, lasts = (
        torch.tensor([getattr(row, name) for row in rows])[numbers] for name in ("first", "last")
    )
    is_text = (places >= firsts[:, None]) & (places < lasts[:, None])
    return Batch(
        ids,
        places < lengths[:, None],
        numbers,
        torch.tensor([ask for row in rows for ask in row.asks]),
        torch.tensor([answer for row in rows for answer in row.answers]),
        is_text | (places == 0),
    )
