"""The trained judge as an ONNX file: the one form in which it is served.

The graph reads one pair at a time, so that a score never depends on the other pairs of a batch. Matrices are kept in
8 bits beside the scale of each row, and ONNX Runtime multiplies them out once, when it loads the file; products are
float32.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.scope.judge import FORMAT

OPSET, IR_VERSION = 20, 10  # versions that ONNX Runtime 1.18 and later read
HEAD_SIZE = WIDTH // HEADS
SMALLEST_SCALE = 1e-8  # scale of a row whose weights are all zero
Weights = Mapping[str, Tensor]


def write_graph(weights: Weights) -> bytes:
    """Write the judge's layers as a serialized ONNX model.

    Args:
        weights: The net's `served_weights`, under Hugging Face's names, in float32.

    Returns:
        A model with the inputs `embedded` [token width], `sides` [token] and `second` [1], and the output `raw` [1]:
        the log-odds of a pair.
    """
    graph = _Graph(weights)
    x = graph.node(
        "Add", "embedded", graph.node("Gather", graph.array("sides", weights["sides"]), "sides_of")
    )
    x = graph.norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        x = graph.layer(x, f"encoder.layer.{layer}.")
    marks = graph.node("Concat", graph.number("first", 0), "second", axis=0)
    states = graph.node("Reshape", graph.node("Gather", x, marks), graph.shape("pair", 1, 2 * WIDTH))
    out = graph.array("out", weights["out"].view(-1, 1))
    raw = graph.node("Reshape", graph.node("MatMul", states, out), graph.shape("one", 1))
    return graph.serialize(raw)


def read_weights(graph: bytes) -> dict[str, Tensor]:
    """Return the weights of a model that `write_graph` wrote, as they are served."""
    initializers = onnx.load_model_from_string(graph).graph.initializer
    arrays = {array.name: torch.from_numpy(numpy_helper.to_array(array).copy()) for array in initializers}
    weights = {
        name.removesuffix("_values"): array for name, array in arrays.items() if name.endswith("_values")
    }
    return weights | {
        name.removesuffix(".scale"): arrays[name.removesuffix(".scale")] * scale
        for name, scale in arrays.items()
        if name.endswith(".scale")
    }


class _Graph:
    """An ONNX graph while it is built: nodes and constants."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        output = f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def array(self, name: str, tensor: Tensor) -> str:
        """Add a float32 constant."""
        return self.constant(name + "_values", tensor.detach().float().numpy())

    def shape(self, name: str, *sizes: int) -> str:
        return self.constant(name + "_shape", np.array(sizes, dtype=np.int64))

    def number(self, name: str, value: int) -> str:
        return self.constant(name + "_number", np.array([value], dtype=np.int64))

    def matrix(self, name: str) -> str:
        """Add a matrix [out in] in 8 bits, each row scaled to its own largest entry, and the product of the two."""
        codes, scale = quantize(self._weights[name].detach().float().numpy())
        cast = self.node("Cast", self.constant(name, codes), to=TensorProto.FLOAT)
        return self.node("Mul", cast, self.constant(name + ".scale", scale))

    def linear(self, x: str, name: str) -> str:
        """Add y = x W^T + b."""
        bias = self.array(name + ".bias", self._weights[name + ".bias"])
        return self.node("Gemm", x, self.matrix(name + ".weight"), bias, transB=1)

    def norm(self, x: str, name: str) -> str:
        gamma, beta = (
            self.array(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")
        )
        return self.node("LayerNormalization", x, gamma, beta, epsilon=EPSILON)

    def heads(self, x: str) -> str:
        """Split the heads: [token width] -> [head token size]."""
        split = self.node("Reshape", x, self.shape("heads", -1, HEADS, HEAD_SIZE))
        return self.node("Transpose", split, perm=[1, 0, 2])

    def layer(self, x: str, prefix: str) -> str:
        """Add a block of BERT (models/encoder/bert.py has the equation), without a mask, for there is no padding."""
        inner = prefix + "attention.self."
        query, key, value = (self.heads(self.linear(x, inner + name)) for name in ("query", "key", "value"))
        root = self.constant("root", np.array(HEAD_SIZE**-0.5, dtype=np.float32))
        scores = self.node(
            "MatMul", self.node("Mul", query, root), self.node("Transpose", key, perm=[0, 2, 1])
        )
        context = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        rows = self.node("Transpose", context, perm=[1, 0, 2])
        x = self.add(
            prefix + "attention.output", self.node("Reshape", rows, self.shape("width", -1, WIDTH)), x
        )
        up = self.node("Gelu", self.linear(x, prefix + "intermediate.dense"))
        return self.add(prefix + "output", up, x)

    def add(self, name: str, x: str, residual: str) -> str:
        return self.norm(self.node("Add", residual, self.linear(x, name + ".dense")), name + ".LayerNorm")

    def serialize(self, output: str) -> bytes:
        """Check the graph and return it as bytes."""
        inputs = [
            helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["token", WIDTH]),
            helper.make_tensor_value_info("sides_of", TensorProto.INT64, ["token"]),
            helper.make_tensor_value_info("second", TensorProto.INT64, [1]),
        ]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1])]
        graph = helper.make_graph(self._nodes, "judge", inputs, outputs, [*self._constants.values()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        helper.set_model_props(model, {"format": FORMAT})
        onnx.checker.check_model(model, full_check=True)
        data: bytes = model.SerializeToString()
        return data


def quantize(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix [out in] to 8 bits; the scales [out 1] times the codes are the matrix as it is served."""
    scale = np.maximum(np.abs(weight).max(1, keepdims=True) / 127, SMALLEST_SCALE).astype(np.float32)
    return np.clip(np.round(weight / scale), -127, 127).astype(np.int8), scale
