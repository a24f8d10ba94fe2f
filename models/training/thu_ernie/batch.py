"""Examples as tensors: the texts with their rows, and the targets of the heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.layout import cut, lay_mask
from models.thu_ernie.answering.rows import BatchRows
from models.thu_ernie.links import Link
from models.thu_ernie.network import Batch
from models.thu_ernie.row import collate
from models.training.thu_ernie.questions import Example


@dataclass(frozen=True)
class QuestionBatch:
    """Questions with their masks.

    Attributes:
        batch: The texts.
        places: Where each mask is.
    """

    batch: Batch
    places: Int[Tensor, " batch"]


def collate_questions(
    examples: Sequence[Example], vocabulary: Vocabulary, size: int, room: int
) -> QuestionBatch:
    """Lay questions out as serving does."""
    vectors: dict[str, Tensor] = {}
    masks = []
    for number, example in enumerate(examples):
        question = example.question
        links = []
        if example.mention is not None:
            vectors[f"mention {number}"] = example.mention
            links.append(Link(f"mention {number}", question.begin, question.end, 1.0))
        subject = None
        if example.mask is not None:
            vectors[f"mask {number}"] = example.mask
            subject = Link(f"mask {number}", question.begin, question.end, 1.0)
        text, _ = cut(vocabulary.align(question.text, links), room)
        masks.append(lay_mask(text, subject, vocabulary))
    batch = collate([mask.row for mask in masks], BatchRows(size, vectors), vocabulary.spans.padding)
    return QuestionBatch(batch, torch.tensor([mask.place for mask in masks]))
