"""`python -m models.training.scope.graph`: write the graphs of MiniLM's layers in 8 bits and float32, for ONNX Runtime.

The graphs hold no weights: `models/encoder/layers.py` gives them those of the encoder, or of the judge. In 8 bits,
each row of states x is rounded to TOP + 1 codes by its own scale s for each product, and multiplied with 8-bit weights:

    c(x, s) = round(x / s) + zero,   y = s * (c(x, s) - zero) W^T * scales + b

So the states of a text never depend on the others of its batch. The codes have 7 bits, since without VNNI a processor
adds two products in 16 bits, and cuts a larger sum (`MatMulIntegerToFloat` on x86 with AVX2): 2 * 128 * 127 fits.
Zero lies in the middle, and low after the GELU, which is never below -0.17. Query, key and value, which suffer most
from the rounding, are products of two such codes: the second are those of what the first leave.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.encoder.layers import DEFAULT, EXACT, QUICK
from models.kit.checkpoint import write_sums

OPSET, IR_VERSION = 20, 10  # versions that ONNX Runtime 1.18 and later read
RUNTIME = "com.microsoft"  # domain of ONNX Runtime's own operators
TOP = 128  # largest code of a state
MIDDLE, LOW = 64, 10  # codes of zero
LOWEST = 0.17  # nothing is further below zero after the GELU
INNER = 4 * WIDTH
HEAD_SIZE = WIDTH // HEADS


def main() -> None:
    DEFAULT.mkdir(parents=True, exist_ok=True)
    (DEFAULT / QUICK).write_bytes(write_graph(Graph()))
    (DEFAULT / EXACT).write_bytes(write_graph(ExactGraph()))
    write_sums(DEFAULT, (QUICK, EXACT))


def write_graph(graph: "Graph") -> bytes:
    """Write the layers as a serialized ONNX model.

    Returns:
        A model with the inputs `embedded` [token width], the tokens of all texts; `slots` [text slot], the token at
        each place of each text; `bias`, which is added to the scores, [text 1 1 slot], or [text 1 query slot] in
        float32; `places` [token], the place of each token among all slots; `rows` [row], the tokens whose last states
        are wanted. Its output is `states` [row width].
    """
    graph.begin_rows("places")
    places, x = "places", graph.norm("embedded", "norm")
    for layer in range(LAYERS):
        context = graph.attend(x, f"{layer}.qkv")
        if layer == LAYERS - 1:
            places, x = (graph.node("Gather", column, "rows") for column in (places, x))
            graph.begin_rows("rows")
        x = graph.add(graph.node("Gather", context, places), x, f"{layer}.out")
        up = graph.node("Gelu", graph.linear(x, f"{layer}.up", INNER))
        x = graph.add(up, x, f"{layer}.down")
    return graph.serialize(x)


class Graph:
    """An ONNX graph while it is built: nodes, constants, and weights that are given later."""

    queries: int | str = 1  # rows of the bias of a text

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._zeros: dict[int, str] = {}

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        output = f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, array: NDArray[np.generic]) -> str:
        name = f"{array.dtype}{array.tolist()}".replace(" ", "")
        self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def weight(self, name: str, *sizes: int, type: int = TensorProto.FLOAT) -> str:
        """Add a weight that the file lacks."""
        tensor = onnx.TensorProto(name=name, dims=sizes, data_type=type, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights")
        self._constants[name] = tensor
        return name

    def begin_rows(self, column: str) -> None:
        """Give each row from here on, one for each entry of a column, the code of zero."""
        shape = self.node("Shape", column)
        for zero in (MIDDLE, LOW):
            self._zeros[zero] = self.node("Expand", self.constant(np.array([zero], dtype=np.uint8)), shape)

    def norm(self, x: str, name: str) -> str:
        gamma, beta = (self.weight(f"{name}.{part}", WIDTH) for part in ("gamma", "beta"))
        return self.node("LayerNormalization", x, gamma, beta, epsilon=EPSILON)

    def linear(self, x: str, name: str, width: int) -> str:
        """Add y = x W^T + b as the equation of this file has it."""
        inner, zero = (INNER, LOW) if name.endswith("down") else (WIDTH, MIDDLE)
        codes = self.weight(f"{name}.codes", inner, width, type=TensorProto.INT8)
        scales = self.weight(f"{name}.scales", width)
        scale = self.scale_rows(x, zero)
        flat = self.node("Squeeze", scale, self.numbers(-1))

        def multiply(x: str, flat: str, step: float) -> tuple[str, str]:
            x_codes = self.node("QuantizeLinear", x, flat, self._zeros[zero], axis=0)
            x_zero = self.constant(np.array(zero, dtype=np.uint8))
            operands = x_codes, codes, self.number(step), scales, x_zero
            return x_codes, self.node("MatMulIntegerToFloat", *operands, domain=RUNTIME)

        x_codes, product = multiply(x, flat, 1)
        if name.endswith("qkv"):
            coarse = self.node("DequantizeLinear", x_codes, flat, self._zeros[zero], axis=0)
            step = self.node("Mul", flat, self.number(1 / TOP))
            _, rest = multiply(self.node("Sub", x, coarse), step, 1 / TOP)
            product = self.node("Add", product, rest)
        return self.node("Add", self.node("Mul", product, scale), self.weight(f"{name}.bias", width))

    def scale_rows(self, x: str, zero: int) -> str:
        """Add the scale of each row: [row 1]."""
        if zero == MIDDLE:
            largest = self.node("ReduceMax", self.node("Abs", x), self.numbers(-1), keepdims=1)
            return self.node("Mul", largest, self.number(1 / MIDDLE))
        largest = self.node("ReduceMax", x, self.numbers(-1), keepdims=1)
        return self.node(
            "Max", self.node("Mul", largest, self.number(1 / (TOP - LOW))), self.number(LOWEST / LOW)
        )

    def attend(self, x: str, name: str) -> str:
        """Add the attention of a layer: [token width] -> [place width], for all slots below each other."""
        parts = self.node("Gather", self.linear(x, name, 3 * WIDTH), "slots")
        parts = self.node("Reshape", parts, self.numbers(0, 0, 3, HEADS, HEAD_SIZE))
        parts = self.node("Transpose", parts, perm=[2, 0, 3, 1, 4])
        query, key, value = (
            self.node("Gather", parts, self.constant(np.array(place, dtype=np.int64))) for place in range(3)
        )
        root = self.number(HEAD_SIZE**-0.5)
        columns = self.node("Transpose", key, perm=[0, 1, 3, 2])
        scores = self.node("Add", self.node("MatMul", self.node("Mul", query, root), columns), "bias")
        context = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        return self.node(
            "Reshape", self.node("Transpose", context, perm=[0, 2, 1, 3]), self.numbers(-1, WIDTH)
        )

    def add(self, x: str, residual: str, name: str) -> str:
        return self.norm(self.node("Add", residual, self.linear(x, name, WIDTH)), f"{name}_norm")

    def serialize(self, output: str) -> bytes:
        """Return the graph as bytes."""
        inputs = [
            helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["token", WIDTH]),
            helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["text", 1, self.queries, "slot"]),
            helper.make_tensor_value_info("slots", TensorProto.INT64, ["text", "slot"]),
            helper.make_tensor_value_info("places", TensorProto.INT64, ["token"]),
            helper.make_tensor_value_info("rows", TensorProto.INT64, ["row"]),
        ]
        self._nodes.append(helper.make_node("Identity", [output], ["states"]))
        outputs = [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["row", WIDTH])]
        graph = helper.make_graph(self._nodes, "layers", inputs, outputs, [*self._constants.values()])
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return bytes(model.SerializeToString())


class ExactGraph(Graph):
    """The layers in float32; each token may attend to others than the next one."""

    queries = "query"

    def begin_rows(self, column: str) -> None:
        """Leave the rows as they are: there are no codes."""

    def linear(self, x: str, name: str, width: int) -> str:
        """Add y = x W^T + b."""
        weight = self.weight(f"{name}.weight", INNER if name.endswith("down") else WIDTH, width)
        return self.node("Add", self.node("MatMul", x, weight), self.weight(f"{name}.bias", width))


if __name__ == "__main__":
    main()
