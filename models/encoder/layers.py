"""BERT's layers on the engine: in float32 for all systems, and in 8 bits for the judge, two to four times as fast.

In 8 bits each row of a matrix has a scale: a quarter of the bytes, in a file and in a product of integers. The integers
fit on every processor, and a text has the same bits alone and beside others.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.encoder.bert import HEADS, MASK_VALUE, PackedBert, Weights, norm_of_embeddings, unpack
from models.encoder.graph import BertGraph, QuickGraph, quantize
from models.kit import engine

SCALE = ".scale"  # ends the name of the scales of a matrix
SLOTS = 8  # the places of a text in 8 bits are a multiple


def round_matrices(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as a file holds them: codes and scales of the matrices, and the vectors as they are."""
    tensors = {name: weight.contiguous() for name, weight in weights.items()}
    for name, weight in weights.items():
        if weight.dim() == 2:
            tensors[name], tensors[name + SCALE] = quantize(weight)
    return tensors


def restore_matrices(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of such a file in float32."""
    return {
        name: tensor * tensors[name + SCALE] if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }


class GraphLayers:
    """The norm of the embeddings and all layers as a graph, on the CPU. Threads may share it."""

    def __init__(self, graph: BertGraph) -> None:
        self._session = graph.load()

    def read(
        self,
        embedded: Float[Tensor, "token width"],
        is_real: Bool[Tensor, "text slot"],
        may_attend: Bool[Tensor, "text _ slot"],
        rows: Int[Tensor, " row"],
    ) -> Float[Tensor, "row width"]:
        """Read texts, each in its slots, and return the last states of some tokens."""
        slots, lengths = torch.arange(is_real.shape[1]), is_real.sum(1)
        starts = lengths.cumsum(0) - lengths
        inputs = {
            "embedded": embedded,
            "slots": (starts[:, None] + slots).where(is_real, 0),
            "bias": torch.zeros(may_attend.shape).masked_fill_(~may_attend, MASK_VALUE)[:, None],
            "places": is_real.flatten().nonzero()[:, 0],
            "rows": rows,
        }
        return self._session(inputs)[0]


class QuickLayers(GraphLayers):
    """The layers in 8 bits, of weights in float32 by Hugging Face's names. KeyError: a weight is missing."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(QuickGraph(weights))

    def __call__(
        self, embedded: Float[Tensor, "token width"], lengths: Int[Tensor, " text"], rows: Int[Tensor, " row"]
    ) -> Float[Tensor, "row width"]:
        """Read texts.

        Args:
            lengths: Tokens of each text. A text has the same bits beside all texts with as many slots.
        """
        is_real = torch.arange(count_slots(int(lengths.max()))) < lengths[:, None]
        return self.read(embedded, is_real, is_real[:, None], rows)


class ExactLayers(GraphLayers):
    """The layers in float32, of weights by Hugging Face's names, as `PackedBert` computes them, to 1e-5."""

    dtype = torch.float32

    def __init__(self, weights: Weights, heads: int = HEADS) -> None:
        super().__init__(BertGraph(weights, heads))

    def __call__(
        self,
        embedded: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        may_attend: Bool[Tensor, "batch _ token"],
        is_wanted: Bool[Tensor, "batch token"] | None = None,
    ) -> Float[Tensor, "batch token width"]:
        """Read one batch, as `PackedBert` does.

        Args:
            is_wanted: The real tokens whose last states are computed; those of others are zero. None wants all.
        """
        if is_wanted is None:
            is_wanted = is_real
        return unpack(self.read(embedded, is_real, may_attend, is_wanted[is_real].nonzero()[:, 0]), is_wanted)


def make_layers(
    weights: Weights, dtype: torch.dtype = torch.float32, heads: int = HEADS
) -> ExactLayers | PackedBert:
    """Return the layers on the engine, or by torch where it does not run: on a GPU, and in bfloat16."""
    if engine.runs(norm_of_embeddings(weights)[0].device, dtype):
        return ExactLayers(weights, heads)
    return PackedBert.from_weights(weights, dtype, heads)


def count_slots(length: int) -> int:
    """Return the places that attention has for a text of so many tokens."""
    return -(-length // SLOTS) * SLOTS
