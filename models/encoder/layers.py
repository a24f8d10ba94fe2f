"""MiniLM's layers on ONNX Runtime in 8 bits, two to four times as fast as in float32.

Each row of a matrix has a scale: a quarter of the bytes, in a file and in a product of integers.

One graph (`models/training/scope/graph.py` writes it and has its equations) for any weights of MiniLM's shape. Its
integers fit on every processor, and a text has the same bits alone and beside others.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from onnxruntime import OrtValue
from torch import Tensor

from models.encoder.bert import MASK_VALUE, Weights, norm_of_embeddings, split_layers
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
GRAPH = "layers.onnx"
PROVIDER = "CPUExecutionProvider"
SLOTS = 8  # the places of a text are a multiple


class QuickLayers:
    """The norm of the embeddings and all layers, on the CPU. Threads may share it: weights never change.

    Args:
        weights: Weights in float32, by Hugging Face's names.

    CheckpointError: the graph is missing or damaged. KeyError: a weight is missing. ValueError: the weights are not
    those of MiniLM's layers.
    """

    def __init__(self, weights: Weights, folder: Path = DEFAULT) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._arrays = dict(_name_arrays(weights))  # a session may read them where they lie
        values = [OrtValue.ortvalue_from_numpy(array) for array in self._arrays.values()]
        options.add_external_initializers(list(self._arrays), values)
        graph = read_verified(folder, (GRAPH,)).files[GRAPH]
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=[PROVIDER])
        except Exception as cause:  # ONNX Runtime raises several classes, which share no public base
            raise ValueError(f"ONNX Runtime takes no such weights ({str(cause).splitlines()[0]})") from cause

    def __call__(
        self, embedded: Float[Tensor, "token width"], lengths: Int[Tensor, " text"], rows: Int[Tensor, " row"]
    ) -> Float[Tensor, "row width"]:
        """Read texts.

        Args:
            lengths: Tokens of each text. A text has the same bits beside all texts with as many slots.
        """
        slots = torch.arange(count_slots(int(lengths.max())))
        starts, is_real = lengths.cumsum(0) - lengths, slots < lengths[:, None]
        inputs = {
            "embedded": embedded,
            "slots": (starts[:, None] + slots).where(is_real, 0),
            "bias": torch.zeros(is_real.shape).masked_fill_(~is_real, MASK_VALUE)[:, None, None],
            "places": is_real.flatten().nonzero()[:, 0],
            "rows": rows,
        }
        (states,) = self._session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
        return torch.from_numpy(states)


def count_slots(length: int) -> int:
    """Return the places that attention has for a text of so many tokens."""
    return -(-length // SLOTS) * SLOTS


def _name_arrays(weights: Weights) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield the arrays of all layers by the graph's names."""
    layers = enumerate(split_layers(weights))
    parts = {f"{place}.{name}": pair for place, layer in layers for name, pair in layer.items()}
    for name, (weight, bias) in ({"norm": norm_of_embeddings(weights)} | parts).items():
        arrays = {"gamma": weight, "beta": bias}
        if weight.dim() == 2:
            codes, scales = quantize(weight)
            arrays = {"codes": codes.T, "scales": scales[:, 0], "bias": bias}
        yield from ((f"{name}.{part}", array.contiguous().numpy()) for part, array in arrays.items())
