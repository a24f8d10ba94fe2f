"""The reader as the teacher of the first steps: its states of a window, read with the text before it."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.encoder.bert import PackedBert
from models.encoder.weights import find
from models.ernie_doc.reading.packing import Packing
from models.reading.windows import OFFSET, Window
from models.training.ernie_doc.examples import Passage


class Teacher:
    """MiniLM's layers, frozen, as they were trained to read.

    Args:
        packing: Its special tokens are used.
        context: Most tokens that are read before a window, as many as a memory has slots.
        device: Device of the computation.
        layers: Trained tensors that stand in the place of MiniLM's.
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
        rows = [
            self._pack(passage.document.ids[first : window.last])
            for passage, first, window in zip(passages, firsts, windows, strict=True)
        ]
        lengths = torch.tensor([len(row) for row in rows])
        ids = pad_sequence(rows, batch_first=True).to(self.device)
        places = torch.arange(ids.shape[1])
        is_real = (places < lengths[:, None]).to(self.device)
        embedded = self._words[ids] + self._places[: ids.shape[1]] + self._type
        with torch.autocast(self.device.type, enabled=False):  # the teacher's matrices are packed in float32
            states = self._bert(embedded[is_real], is_real, is_real[:, None, :]).clone()
        return [
            row[OFFSET + window.first - first : OFFSET + window.last - first]
            for row, first, window in zip(states, firsts, windows, strict=True)
        ]

    def _pack(self, ids: Int[Tensor, " part"]) -> Int[Tensor, " row"]:
        return torch.cat([torch.tensor([self.packing.cls]), ids, torch.tensor([self.packing.sep])])
