"""The layers of a cross-encoder of MiniLM's shape: batches of pairs of texts in, a number for each out.

On a CPU they run in 8 bits, and a pair has the same bits beside any others; on a GPU in float32 by torch.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from more_itertools import map_reduce
from torch import Tensor

from models.encoder.bert import WIDTH, PackedBert
from models.encoder.layers import QuickLayers, count_slots
from models.encoder.minilm import MiniLM

Pair = tuple[bytes, bytes]  # the tokens of two texts, two bytes for each
SLOTS = 512  # places of one pass on a CPU: its states stay in the cache
SLOTS_ON_GPU = 1 << 16  # likewise on a GPU: its states take some 300 MB
TOKEN_BYTES = 2


class PairLayers:
    """Reads pairs. Threads may share it: weights never change.

    Args:
        weights: The layers under Hugging Face's names, the marks of the two texts `sides`, and the head `out`.

    KeyError: a weight is missing. RuntimeError, ValueError: a weight has another shape.
    """

    def __init__(self, encoder: MiniLM, weights: Mapping[str, Tensor], in_8_bits: bool) -> None:
        self._encoder, self._device = encoder, encoder.device
        weights = {name: weight.to(self._device) for name, weight in weights.items()}
        self._sides, self._out = weights["sides"].view(2, WIDTH), weights["out"].view(2 * WIDTH)
        marks = weights.get("marks", self._sides.new_zeros(0)).view(-1, WIDTH)
        self._marks = torch.cat([marks.new_zeros(1, WIDTH), marks])
        self._layers = QuickLayers(weights) if in_8_bits else PackedBert.from_weights(weights)

    @property
    def engine(self) -> str:
        """What computes the layers."""
        is_quick = isinstance(self._layers, QuickLayers)
        return "onnxruntime, 8 bits" if is_quick else f"torch, float32, {self._device}"

    @torch.inference_mode()
    def __call__(self, pairs: Sequence[Pair], marks: Sequence[bytes] = ()) -> Float[Tensor, " pair"]:
        """Return what the layers say of each pair, on the CPU.

        Args:
            marks: For each pair, the number of the mark of each token of both texts, 0 for none; or nothing.
        """
        raw, marks = torch.empty(len(pairs)), marks or [b""] * len(pairs)
        for places in self._batches(pairs):
            raw[places] = self._read(
                [pairs[place] for place in places], [marks[place] for place in places]
            ).cpu()
        return raw

    @property
    def has_marks(self) -> bool:
        """Whether the layers have learned marks."""
        return len(self._marks) > 1

    def _batches(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """Return the places of pairs that are read together."""
        sizes = [count_slots((len(first) + len(second)) // TOKEN_BYTES) for first, second in pairs]
        limit = SLOTS
        if not isinstance(self._layers, QuickLayers):
            sizes, limit = [max(sizes, default=0)] * len(pairs), SLOTS_ON_GPU
        groups = map_reduce(range(len(sizes)), sizes.__getitem__)
        return [
            group[start : start + limit // size]
            for size, group in groups.items()
            for start in range(0, len(group), limit // size)
        ]

    def _read(self, pairs: Sequence[Pair], marks: Sequence[bytes]) -> Float[Tensor, " pair"]:
        texts = [text for pair in pairs for text in pair]
        ids = torch.from_numpy(np.frombuffer(b"".join(texts), np.uint16).astype(np.int64))
        lengths = torch.tensor([len(text) // TOKEN_BYTES for text in texts])
        starts = lengths.cumsum(0) - lengths
        places = torch.arange(len(ids)) - starts.repeat_interleave(lengths)
        sides = torch.arange(len(texts)).remainder(2).repeat_interleave(lengths)
        ids, places, sides, starts = (part.to(self._device) for part in (ids, places, sides, starts))
        embedded = self._encoder.embed(ids, places) + self._sides[sides]
        if any(map(any, marks)):
            of_tokens = torch.tensor(list(b"".join(marks)), device=self._device)
            embedded = embedded + self._marks[of_tokens]
        states = self._read_states(embedded, lengths.view(-1, 2).sum(1), starts)
        return (states.view(len(pairs), 2 * WIDTH) * self._out).sum(-1)

    def _read_states(
        self, embedded: Float[Tensor, "token width"], lengths: Int[Tensor, " pair"], rows: Int[Tensor, " row"]
    ) -> Float[Tensor, "row width"]:
        """Return the last states of some tokens of pairs that have `lengths` tokens."""
        if isinstance(self._layers, QuickLayers):
            return self._layers(embedded, lengths, rows)
        is_real = (torch.arange(int(lengths.max())) < lengths[:, None]).to(self._device)
        return self._layers(embedded, is_real, is_real[:, None])[is_real][rows]
