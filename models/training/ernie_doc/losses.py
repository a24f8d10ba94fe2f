"""The losses of spans and, in the first steps, of MiniLM's states, computed from memory and relative positions.

MiniLM has absolute positions and no memory. In the first steps the model learns to return, for a window behind a
memory, the states that MiniLM returns for the window with the text before it. This needs no labels.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.packing import Packing
from models.reading.windows import OFFSET
from models.training.ernie_doc.batch import Batch
from models.training.ernie_doc.examples import Passage
from models.training.ernie_doc.teacher import Teacher

NEVER = -1e4  # logit of a place that is no answer


def span_loss(model: ErnieDoc, batch: Batch) -> Float[Tensor, ""]:
    """Return the cross-entropy of start and end, over [CLS] and the tokens of the window.

    Half of it is against the distribution of a teacher, where one reads the window (arXiv:1503.02531).
    """
    logits = model.span_logits(model(*batch.segments, batch.memory).states, batch.segments.mask)
    places = torch.arange(logits.shape[1], device=logits.device)
    may_answer = places < OFFSET + batch.lengths[:, None]
    logits = logits.masked_fill(~may_answer[..., None], NEVER)
    expected = F.one_hot(batch.targets, logits.shape[1]).mT.float()
    for row, teacher_logits in enumerate(batch.teacher_logits):
        if teacher_logits is not None:
            share = teacher_logits.to(logits.device).softmax(0)
            expected[row, : len(share)] = (expected[row, : len(share)] + share) / 2
    return 2 * F.cross_entropy(logits.float(), expected)


def state_loss(
    model: ErnieDoc,
    teacher: Teacher,
    passages: Sequence[Passage],
    memories: Sequence[Sequence[Float[Tensor, "layer slot width"]]],
    packing: Packing,
    places: Sequence[int],
) -> Float[Tensor, ""]:
    """Return the mean squared distance of the states of one window of each document to MiniLM's.

    Args:
        model: The model that learns.
        teacher: Reads the same windows.
        passages: The documents.
        memories: Memories of each document before each window.
        packing: How windows become segments.
        places: Number of the window of each document.
    """
    windows = [
        packing.windows(len(passage.document))[place] for passage, place in zip(passages, places, strict=True)
    ]
    segments = packing.pack(
        [passage.document.ids[slice(*window)] for passage, window in zip(passages, windows, strict=True)]
    )
    memory = torch.stack([states[place] for states, place in zip(memories, places, strict=True)], 1)
    outputs = model(*(part.to(memory.device) for part in segments), memory).states.float()
    losses = [
        F.mse_loss(row[OFFSET : OFFSET + len(expected)], expected)
        for row, expected in zip(outputs, teacher.states(passages, windows), strict=True)
    ]
    return torch.stack(losses).mean()
