"""MiniLM's layers on ONNX Runtime: in float32 for all systems, and in 8 bits for the judge, two to four times as fast.

In 8 bits each row of a matrix has a scale: a quarter of the bytes, in a file and in a product of integers.

`models/training/scope/graph.py` writes both graphs, for any weights of MiniLM's shape, and has their equations. The
integers fit on every processor, and in 8 bits a text has the same bits alone and beside others.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from onnxruntime import OrtValue
from torch import Tensor

from models.encoder.bert import (
    HEADS,
    LAYERS,
    MASK_VALUE,
    WIDTH,
    NormKind,
    PackedBert,
    Weights,
    norm_of_embeddings,
    split_layers,
    unpack,
)
from models.kit.checkpoint import read_verified

LARGEST_CODE = 127
SMALLEST_SCALE = 1e-8  # scale of a row whose weights are all zero
SCALE = ".scale"  # ends the name of the scales of a matrix


def quantize(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, "out 1"]]:
    """Round a matrix, each row scaled to its own largest entry; the codes times the scales are served."""
    scales = (weight.abs().amax(1, keepdim=True) / LARGEST_CODE).clamp(min=SMALLEST_SCALE)
    return (weight / scales).round().clamp(-LARGEST_CODE, LARGEST_CODE).to(torch.int8), scales


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


DEFAULT = Path(__file__).parents[1] / "checkpoints" / "encoder"
QUICK, EXACT = "layers.onnx", "exact.onnx"  # graphs in 8 bits and in float32
PROVIDER = "CPUExecutionProvider"
SLOTS = 8  # the places of a text in 8 bits are a multiple


class GraphLayers:
    """The norm of the embeddings and all layers as a graph, on the CPU. Threads may share it: weights never change.

    CheckpointError: the graph is missing or damaged. ValueError: the arrays are not those of MiniLM's layers.
    """

    def __init__(self, graph: str, arrays: Mapping[str, NDArray[np.generic]], folder: Path = DEFAULT) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._arrays = dict(arrays)  # a session may read them where they lie
        values = [OrtValue.ortvalue_from_numpy(array) for array in self._arrays.values()]
        options.add_external_initializers(list(self._arrays), values)
        data = read_verified(folder, (QUICK, EXACT)).files[graph]
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=[PROVIDER])
        except Exception as cause:  # ONNX Runtime raises several classes, which share no public base
            raise ValueError(f"ONNX Runtime takes no such weights ({str(cause).splitlines()[0]})") from cause

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
        (states,) = self._session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
        return torch.from_numpy(states)


class QuickLayers(GraphLayers):
    """The layers in 8 bits, of weights in float32 by Hugging Face's names. KeyError: a weight is missing."""

    def __init__(self, weights: Weights, folder: Path = DEFAULT) -> None:
        super().__init__(QUICK, dict(_name_arrays(weights, in_8_bits=True)), folder)

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

    def __init__(self, weights: Weights, folder: Path = DEFAULT) -> None:
        super().__init__(EXACT, dict(_name_arrays(weights, in_8_bits=False)), folder)

    def __call__(
        self,
        embedded: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        may_attend: Bool[Tensor, "batch _ token"],
    ) -> Float[Tensor, "batch token width"]:
        """Read one batch, as `PackedBert` does."""
        states = self.read(embedded, is_real, may_attend, torch.arange(len(embedded)))
        return unpack(states, is_real)


def make_layers(
    weights: Weights, dtype: torch.dtype = torch.float32, heads: int = HEADS, norm: NormKind = "bert"
) -> ExactLayers | PackedBert:
    """Return the layers on the engine of their device: ONNX Runtime for MiniLM's in float32 on a CPU, or torch."""
    width = weights["embeddings.LayerNorm.weight"]
    is_minilm = (len(width), heads, norm, len(split_layers(weights))) == (WIDTH, HEADS, "bert", LAYERS)
    if is_minilm and dtype == torch.float32 and width.device.type == "cpu":
        return ExactLayers(weights)
    return PackedBert.from_weights(weights, dtype, heads, norm)


def count_slots(length: int) -> int:
    """Return the places that attention has for a text of so many tokens."""
    return -(-length // SLOTS) * SLOTS


def _name_arrays(weights: Weights, in_8_bits: bool) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield the arrays of all layers by the graph's names."""
    layers = enumerate(split_layers(weights))
    parts = {f"{place}.{name}": pair for place, layer in layers for name, pair in layer.items()}
    for name, (weight, bias) in ({"norm": norm_of_embeddings(weights)} | parts).items():
        arrays = {"gamma": weight, "beta": bias}
        if weight.dim() == 2 and in_8_bits:
            codes, scales = quantize(weight)
            arrays = {"codes": codes.T, "scales": scales[:, 0], "bias": bias}
        elif weight.dim() == 2:
            arrays = {"weight": weight.T, "bias": bias}
        yield from ((f"{name}.{part}", array.contiguous().numpy()) for part, array in arrays.items())
