"""Turns windows of a document into segments: `[CLS] window [SEP]`, or `[CLS] window [SEP] question [SEP]`.

A model that points has a [MASK] behind the question.

Windows are as long as leaves room for a question, for reading too, so that the state before a window is the state that
a question to this window needs. They may overlap, so that an answer at the end of a window is whole in the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.reading.windows import Window, cover

SPECIAL_TOKENS = 3  # [CLS] and two [SEP]


class Segments(NamedTuple):
    """A batch of segments as `ErnieDoc` takes them."""

    ids: Int[Tensor, "batch token"]
    tasks: Int[Tensor, "batch token"]
    mask: Float[Tensor, "batch token"]


@dataclass(frozen=True)
class Packing:
    """Sizes in tokens, and the ids of special tokens."""

    segment: int  # T of the model
    question_room: int  # tokens of a question that a segment has room for
    stride: int  # from the start of a window to that of the next
    cls: int
    sep: int
    pad: int
    mask: int | None = None  # behind a question; None for a model that does not point

    def __post_init__(self) -> None:
        if self.question_room < 1 or self.window < 1:
            raise ValueError(
                f"question_room: from 1 to {self.segment - SPECIAL_TOKENS - 1}, not {self.question_room}"
            )
        if not 1 <= self.stride <= self.window:
            raise ValueError(f"stride: from 1 to the {self.window} tokens of a window, not {self.stride}")

    @staticmethod
    def of(
        tokenizer: Tokenizer, segment: int, question_room: int, overlap: int, points: bool = False
    ) -> "Packing":
        """Take the special tokens of a BERT tokenizer."""
        ids = tokenizer.get_vocab(with_added_tokens=True)
        names = ("[CLS]", "[SEP]", "[PAD]", *(["[MASK]"] if points else []))
        stride = segment - question_room - SPECIAL_TOKENS - points - overlap
        return Packing(segment, question_room, stride, *(ids[name] for name in names))

    @property
    def window(self) -> int:
        """Tokens of a window."""
        return self.segment - self.question_room - SPECIAL_TOKENS - (self.mask is not None)

    def windows(self, n_tokens: int) -> list[Window]:
        """Cover a document; only the last window may be shorter."""
        return cover(n_tokens, self.window, self.stride)

    def pack(
        self, windows: Sequence[Int[Tensor, " _"]], question: Int[Tensor, " asked"] | None = None
    ) -> Segments:
        """Make one segment of each window, padded to T."""
        cls, sep = torch.tensor([self.cls]), torch.tensor([self.sep])
        pointer = [] if self.mask is None else [torch.tensor([self.mask])]
        tail = [sep] if question is None else [sep, question, *pointer, sep]
        return self.pad_rows([torch.cat([cls, window, *tail]) for window in windows])

    def pad_rows(self, rows: Sequence[Int[Tensor, " _"]]) -> Segments:
        """Make one segment of each row of tokens, padded to T, all of the task 0."""
        room = torch.zeros(self.segment, dtype=torch.long)  # the longest row, so that all are padded to T
        ids = pad_sequence([*rows, room], batch_first=True, padding_value=self.pad)[:-1]
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(self.segment) < lengths[:, None]).float()
        return Segments(ids, torch.zeros_like(ids), mask)
