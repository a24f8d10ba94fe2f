"""Rows of a step: the windows of documents that are learned from, and the memory with which each is read.

All documents of a step are read side by side without the question; then windows are drawn, with and without their
answer, and each is read with the question from the memory before it.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing, Segments
from models.reading.document import Document
from models.reading.windows import OFFSET, Window, owners
from models.training.ernie_doc.examples import Example, Passage
from models.training.kit.plan import Plan

MEMORY_KINDS = ("alias", "steps")  # kinds of questions that need an earlier segment
Teach = Callable[[Sequence[tuple[Sequence[int], Sequence[int]]]], Sequence[Tensor]]
NONE = 0  # place of [CLS], which stands for no answer


@dataclass(frozen=True)
class Row:
    """A window with a question."""

    passage: int  # number of the document
    window: int  # number of the window in it
    text: Int[Tensor, " token"]  # tokens of the window
    example: Example  # the question
    start: int  # place of the answer's first token in the segment, or NONE
    end: int  # place of its last


@dataclass(frozen=True)
class Batch:
    """Rows as the model reads them."""

    segments: Segments  # windows with their questions
    memory: Float[Tensor, "layer batch slot width"]  # memory before each window
    targets: Int[Tensor, "batch 2"]  # places of start and end
    lengths: Int[Tensor, " batch"]  # tokens of each window; [CLS] and these may be answers
    # A teacher says these of first and last token, at [CLS] and in the window; None where only memory can tell
    teacher_logits: Sequence[Float[Tensor, "token 2"] | None]


def draw_rows(passages: Sequence[Passage], packing: Packing, mixture: Plan, rng: random.Random) -> list[Row]:
    """Draw the rows of a step, with and without their answer in the shares of the mixture.

    A row without its answer is the one most like its question among a few that are drawn, for a question is asked of
    the windows that are like it.
    """
    present, absent = [], []
    for number, passage in enumerate(passages):
        windows = packing.windows(len(passage.document))
        owner = owners(windows, len(passage.document))
        for example in passage.examples:
            home = None if example.span is None else int(owner[example.span[0]])
            for place, window in enumerate(windows):
                row = place_answer(passage.document, number, place, window, example)
                if place == home and row.start != NONE:
                    present.append(row)
                elif row.start == NONE:
                    absent.append(row)
    with_answer = draw_present(present, mixture, rng)
    without = []
    for _ in range(mixture.n_rows - len(with_answer)):
        rivals = rng.sample(absent, min(len(absent), mixture.n_rivals))
        # The one that has most of the question's different tokens.
        without += sorted(rivals, key=lambda row: len({*row.text.tolist()} & {*row.example.ids.tolist()}))[
            -1:
        ]
    return with_answer + without


def draw_present(present: Sequence[Row], mixture: Plan, rng: random.Random) -> list[Row]:
    """Draw rows with their answer; at most a share of them needs the memory."""
    order = rng.sample(present, len(present))
    n_rows = round(mixture.n_rows * mixture.present)
    remote = [row for row in order if row.example.kind in MEMORY_KINDS]
    remote = remote[: round(n_rows * mixture.memory_share)]
    local = [row for row in order if row.example.kind not in MEMORY_KINDS]
    return remote + local[: n_rows - len(remote)]


def place_answer(document: Document, passage: int, number: int, window: Window, example: Example) -> Row:
    """Return the row of a window, with the answer if the window holds all of it."""
    text, first, last = document.ids[slice(*window)], NONE, NONE
    if example.span is not None and window.first <= example.span[0] and example.span[1] < window.last:
        first, last = (OFFSET + token - window.first for token in example.span)
    return Row(passage, number, text, example, first, last)


@torch.no_grad()
def read_memories(
    model: ErnieDoc, passages: Sequence[Passage], packing: Packing, last_windows: Sequence[int]
) -> list[list[Float[Tensor, "layer slot width"]]]:
    """Read documents side by side, and return for each the memory before each window.

    `last_windows` are the last window of each document whose memory is needed; later ones are not read.
    """
    device, tables = model.device, model.tables()
    windows = [packing.windows(len(passage.document)) for passage in passages]
    first = start_memory(model.config, 1, device)[:, 0]
    memories = [[first] for _ in passages]
    for number in range(max(last_windows)):
        rows = [row for row, last in enumerate(last_windows) if number < last]
        segments = packing.pack([passages[row].document.ids[slice(*windows[row][number])] for row in rows])
        memory = torch.stack([memories[row][-1] for row in rows], 1)
        read = model(*(part.to(device) for part in segments), memory, tables).memory
        for row, following in zip(rows, read.unbind(1), strict=True):
            memories[row].append(following)
    return memories


def collate(
    rows: Sequence[Row],
    memories: Sequence[Sequence[Float[Tensor, "layer slot width"]]],
    packing: Packing,
    teach: Teach | None = None,
) -> Batch:
    """Put rows together with the memories before their windows, and with what a teacher says of them."""
    device = memories[0][0].device
    segments = [packing.pack([row.text], row.example.ids) for row in rows]
    lengths = [len(row.text) for row in rows]
    pairs = [(row.example.ids.tolist(), row.text.tolist()) for row in rows]
    logits = teach(pairs) if teach else [None] * len(rows)
    teacher_logits = [
        None if part is None or row.example.kind in MEMORY_KINDS else part.clone()
        for row, part in zip(rows, logits, strict=True)
    ]
    memory = torch.stack([memories[row.passage][row.window] for row in rows], 1)
    columns = (torch.cat(parts).to(device) for parts in zip(*segments, strict=True))
    targets = torch.tensor([[row.start, row.end] for row in rows], device=device)
    return Batch(Segments(*columns), memory, targets, torch.tensor(lengths, device=device), teacher_logits)
