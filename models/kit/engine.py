"""The engine of what a question computes on a CPU: a graph of a network's own weights, run by ONNX Runtime.

A graph is built when its checkpoint is loaded, so it fits any shape, and no file of it can be stale. ONNX Runtime lays
the weights out anew, so later changes of a module do not reach its graph.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import OrtValue
from torch import Tensor

PROVIDER = "CPUExecutionProvider"
OPSET, IR_VERSION = 20, 10  # versions that ONNX Runtime 1.18 and later read
RUNTIME = "com.microsoft"  # domain of ONNX Runtime's own operators


def runs(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether the engine computes on such a device, in such a type."""
    return device.type == "cpu" and dtype == torch.float32


def describe(device: torch.device, dtype: torch.dtype) -> str:
    """Return, for people, what computes there: ONNX Runtime, or torch."""
    kind = str(dtype).removeprefix("torch.")
    return f"onnxruntime, {kind}" if runs(device, dtype) else f"torch, {kind}, {device}"


class Graph:
    """A graph while it is built: nodes, constants, weights, inputs and outputs. Values are named by strings."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._weights: dict[str, NDArray[np.generic]] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        return self.nodes(op, 1, *inputs, domain=domain, **attributes)[0]

    def nodes(self, op: str, count: int, *inputs: str, domain: str = "", **attributes: Any) -> list[str]:
        """Add a node with `count` outputs and return the outputs' names."""
        outputs = [f"{op}_{len(self._nodes)}_{place}" for place in range(count)]
        self._nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs

    def constant(self, array: NDArray[np.generic]) -> str:
        name = f"{array.dtype}{array.tolist()}".replace(" ", "")
        self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def weight(self, tensor: Tensor) -> str:
        """Add a weight."""
        array = tensor.detach().contiguous().numpy()
        name = f"weight_{len(self._weights)}"
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        proto = TensorProto(name=name, dims=array.shape, data_type=kind, data_location=TensorProto.EXTERNAL)
        proto.external_data.add(key="location", value="weights")
        self._constants[name], self._weights[name] = proto, array
        return name

    def input(self, name: str, *sizes: int | str, type: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, type, sizes))
        return name

    def output(self, value: str, name: str, *sizes: int | str, type: int = TensorProto.FLOAT) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, type, sizes))

    def linear(
        self, x: str, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None = None
    ) -> str:
        """Add x W^T + b."""
        product = self.node("FusedMatMul", x, self.weight(weight), domain=RUNTIME, transB=1)
        return product if bias is None else self.node("Add", product, self.weight(bias))

    def swap_axes(self, x: str, *order: int) -> str:
        return self.node("Transpose", x, perm=order)

    def load(self) -> "Session":
        """Return the finished graph, ready to run."""
        graph = helper.make_graph(
            self._nodes, "layers", self._inputs, self._outputs, [*self._constants.values()]
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return Session(model.SerializeToString(), self._weights)


class Session:
    """A graph that runs. Threads may share it: weights never change.

    ValueError: a weight has another shape than its place in the network.
    """

    def __init__(self, graph: bytes, weights: Mapping[str, NDArray[np.generic]]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        values = [OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)  # which copies them
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=[PROVIDER])
        except Exception as cause:  # ONNX Runtime raises several classes, which share no public base
            raise ValueError(f"ONNX Runtime takes no such weights ({str(cause).splitlines()[0]})") from cause

    def __call__(self, inputs: Mapping[str, Tensor]) -> list[Tensor]:
        """Return the outputs, in the order in which the graph names them."""
        arrays = self._session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
        return [torch.from_numpy(array) for array in arrays]
