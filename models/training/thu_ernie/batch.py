"""Examples as tensors: the texts with their rows, and the targets of the heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.kbert.text import Piece
from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.layout import cut, lay_mask, lay_windows
from models.thu_ernie.answering.rows import BatchRows
from models.thu_ernie.heads import NO_LABEL
from models.thu_ernie.links import Lexicon, Link
from models.thu_ernie.network import Batch
from models.thu_ernie.row import Row, collate
from models.training.thu_ernie.passages import Passage
from models.training.thu_ernie.questions import Example
from models.training.thu_ernie.wordings import Question


@dataclass(frozen=True)
class QuestionBatch:
    """Questions with their masks.

    Attributes:
        batch: The texts.
        places: Where each mask is.
    """

    batch: Batch
    places: Int[Tensor, " batch"]


@dataclass(frozen=True)
class PassageBatch:
    """Passages with their spans.

    Attributes:
        batch: The texts.
        spans: First and last token of each answer; 0 and 0 if the passage does not say.
    """

    batch: Batch
    spans: Int[Tensor, "batch 2"]


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


def collate_passages(
    passages: Sequence[Passage],
    vectors: Mapping[str, Float[Tensor, " size"]],
    vocabulary: Vocabulary,
    size: int,
    room: int,
    window: int,
) -> PassageBatch:
    """Lay passages out as serving does; text beyond the window is cut.

    Args:
        passages: Passages with their questions.
        vectors: Entity -> its row; the passages of an entity without one are read as text alone.
        vocabulary: Vocabulary of the model.
        size: Width of a row.
        room: Tokens of a question.
        window: Tokens of a row.
    """
    rows: list[Row] = []
    spans: list[tuple[int, int]] = []
    for passage in passages:
        question, _ = cut(vocabulary.align(passage.question.text, _link(passage.question, passage)), room)
        text = vocabulary.align(passage.text, _link_text(passage))
        layout = next(iter(lay_windows(question, text, vocabulary, window, 0)))
        rows.append(layout.row)
        spans.append(_find_span(passage, text.pieces, layout.offset, len(layout.row.tokens) - 1))
    known_vectors = {
        passage.entity: vectors[passage.entity] for passage in passages if passage.entity in vectors
    }
    batch = collate(rows, BatchRows(size, known_vectors), vocabulary.spans.padding)
    return PassageBatch(batch, torch.tensor(spans))


def _link(question: Question, passage: Passage) -> list[Link]:
    return [Link(passage.entity, question.begin, question.end, 1.0)] if passage.entity else []


def _link_text(passage: Passage) -> list[Link]:
    if not passage.entity or not any(character.isalnum() for character in passage.name):
        return []
    return Lexicon().add(passage.name, passage.entity).link(passage.text)[0]


def _find_span(passage: Passage, pieces: Sequence[Piece], offset: int, end: int) -> tuple[int, int]:
    """Return the tokens of the answer; NO_LABEL if they are not whole tokens of the row."""
    if passage.answer is None:
        return 0, 0
    begins = {piece.start: place for place, piece in enumerate(pieces)}
    ends = {piece.end: place for place, piece in enumerate(pieces)}
    first, last = begins.get(passage.answer[0]), ends.get(passage.answer[1])
    if first is None or last is None or offset + last >= end:
        return NO_LABEL, NO_LABEL
    return offset + first, offset + last
