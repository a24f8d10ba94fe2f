"""The losses of spans and, in the first steps, of MiniLM's states, computed from memory and relative positions.

MiniLM has absolute positions and no memory. In the first steps the model learns to return, for a window behind a
memory, the states that MiniLM returns for the window with the text before it. This needs no labels.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.encoder.bert import PackedBert
from models.encoder.weights import find
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing
from models.reading.windows import OFFSET, Window
from models.training.ernie_doc.batch import Batch
from models.training.ernie_doc.examples import Passage

NEVER = -1e4  # logit of a place that is no answer


class Teacher:
    """The reader that teaches the first steps: MiniLM's layers, frozen, with `layers` in the place of some.

    It reads a window with up to `context` tokens before it, as many as a memory has slots.
    """

    def __init__(
        self, packing: Packing, context: int, device: torch.device, layers: Mapping[str, Tensor] | None = None
    ) -> None:
        weights = {name: value.to(device) for name, value in {**find().weights, **(layers or {})}.items()}
        self.packing, self.context, self.device = packing, context, device
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = weights["embeddings.position_embeddings.weight"]
        self._type = weights["embeddings.token_type_embeddings.weight"][0]
        self._bert = PackedBert.from_weights(weights)

    def states(
        self, passages: Sequence[Passage], windows: Sequence[Window]
    ) -> list[Float[Tensor, "_ width"]]:
        """Return the states of one window of each document."""
        firsts = [max(0, window.first - self.context) for window in windows]
        cls, sep = torch.tensor([self.packing.cls]), torch.tensor([self.packing.sep])
        rows = [
            torch.cat([cls, passage.document.ids[first : window.last], sep])
            for passage, first, window in zip(passages, firsts, windows, strict=True)
        ]
        lengths = torch.tensor([len(row) for row in rows])
        ids = pad_sequence(rows, batch_first=True).to(self.device)
        places = torch.arange(ids.shape[1])
        is_real = (places < lengths[:, None]).to(self.device)
        embedded = self._words[ids] + self._places[: ids.shape[1]] + self._type
        with torch.autocast(self.device.type, enabled=False):  # the teacher is in float32
            states = self._bert(embedded[is_real], is_real, is_real[:, None, :]).clone()
        return [
            row[OFFSET + window.first - first : OFFSET + window.last - first]
            for row, first, window in zip(states, firsts, windows, strict=True)
        ]


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

    `memories` are those of each document before each window, and `places` the number of its window.
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
