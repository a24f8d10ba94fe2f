"""BERT's layers as graphs, in float32 and in 8 bits.

In 8 bits each row of states x is rounded to TOP + 1 codes by its own scale s for each product, and multiplied with
8-bit weights:

    c(x, s) = round(x / s) + zero,   y = s * (c(x, s) - zero) W^T * scales + b

So the states of a text never depend on the others of its batch. The codes have 7 bits, since without VNNI a processor
adds two products in 16 bits, and cuts a larger sum (`MatMulIntegerToFloat` on x86 with AVX2): 2 * 128 * 127 fits.
Zero lies in the middle, and low after the GELU, which is never below -0.17. Query, key and value, which suffer most
from the rounding, are products of two such codes: the second are those of what the first leave.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from onnx import TensorProto
from torch import Tensor

from models.encoder.bert import (
    EPSILON,
    HEADS,
    Parts,
    Weights,
    norm_of_embeddings,
    split_layers,
)
from models.kit.engine import RUNTIME, Graph

LARGEST_CODE = 127
SMALLEST_SCALE = 1e-8  # scale of a row whose weights are all zero
TOP = 128  # largest code of a state
MIDDLE, LOW = 64, 10  # codes of zero
LOWEST = 0.17  # nothing is further below zero after the GELU


def quantize(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, "out 1"]]:
    """Round a matrix, each row quotient to its own largest entry; the codes times the scales are served."""
    scales = (weight.abs().amax(1, keepdim=True) / LARGEST_CODE).clamp(min=SMALLEST_SCALE)
    return (weight / scales).round().clamp(-LARGEST_CODE, LARGEST_CODE).to(torch.int8), scales


class BertGraph(Graph):
    """The norm of the embeddings and all layers, in float32; each token may attend to others than the next one.

    Its inputs are `embedded` [token width], the tokens of all texts; `slots` [text slot], the token at each place of
    each text; `bias` [text 1 query slot], which is added to the scores; `places` [token], the place of each token among
    all slots; `rows` [row], the tokens whose last states are wanted. Its output is `states` [row width].
    """

    queries: int | str = "query"  # rows of the bias of a text

    def __init__(self, weights: Weights, heads: int = HEADS) -> None:
        super().__init__()
        gamma, beta = norm_of_embeddings(weights)
        self._width, self._heads = len(gamma), heads
        self.input("embedded", "token", self._width)
        self.input("bias", "text", 1, self.queries, "slot")
        for name, *sizes in (("slots", "text", "slot"), ("places", "token"), ("rows", "row")):
            self.input(name, *sizes, type=TensorProto.INT64)
        self.output(self._read(gamma, beta, split_layers(weights)), "states", "row", self._width)

    def _read(self, gamma: Tensor, beta: Tensor, layers: list[Parts]) -> str:
        self.begin_rows("places")
        places, x = "places", self.norm("embedded", gamma, beta)
        for number, parts in enumerate(layers, 1):
            context = self.attend(x, *parts["qkv"])
            if number == len(layers):
                places, x = (self.node("Gather", column, "rows") for column in (places, x))
                self.begin_rows("rows")
            out = self.multiply(self.node("Gather", context, places), *parts["out"])
            x = self.norm(self.node("Add", x, out), *parts["out_norm"])
            up = self.node("Gelu", self.multiply(x, *parts["up"]))
            down = self.multiply(up, *parts["down"], zero=LOW)
            x = self.norm(self.node("Add", x, down), *parts["down_norm"])
        return x

    def begin_rows(self, column: str) -> None:
        """Prepare for products of as many rows as the column has entries."""

    def multiply(self, x: str, weight: Tensor, bias: Tensor, zero: int = MIDDLE, twice: bool = False) -> str:
        """Add y = x W^T + b.

        Args:
            zero: Code of zero in 8 bits.
            twice: In 8 bits, multiply also what the codes leave.
        """
        return self.linear(x, weight, bias)

    def norm(self, x: str, gamma: Float[Tensor, " width"], beta: Float[Tensor, " width"]) -> str:
        """Add a norm as `LayerNorm` has it."""
        return self.node("LayerNormalization", x, self.weight(gamma), self.weight(beta), epsilon=EPSILON)

    def attend(self, x: str, weight: Tensor, bias: Tensor) -> str:
        """Add the attention of a layer: [token width] -> [place width], for all slots below each other."""
        size = self._width // self._heads
        parts = self.node("Gather", self.multiply(x, weight, bias, twice=True), "slots")
        parts = self.node("Reshape", parts, self.numbers(0, 0, 3, self._heads, size))
        parts = self.swap_axes(parts, 2, 0, 3, 1, 4)
        query, key, value = (
            self.node("Gather", parts, self.constant(np.array(place, dtype=np.int64))) for place in range(3)
        )
        quotient = self.node("Mul", query, self.number(size**-0.5))
        scores = self.node("MatMul", quotient, self.swap_axes(key, 0, 1, 3, 2))
        context = self.node("MatMul", self.node("Softmax", self.node("Add", scores, "bias"), axis=-1), value)
        return self.node("Reshape", self.swap_axes(context, 0, 2, 1, 3), self.numbers(-1, self._width))


class QuickGraph(BertGraph):
    """The layers in 8 bits; all tokens of a text attend to the same ones."""

    queries = 1

    def begin_rows(self, column: str) -> None:
        """Give each row from here on the codes of zero."""
        shape = self.node("Shape", column)
        self._zeros = {
            zero: self.node("Expand", self.constant(np.array([zero], dtype=np.uint8)), shape)
            for zero in (MIDDLE, LOW)
        }

    def multiply(self, x: str, weight: Tensor, bias: Tensor, zero: int = MIDDLE, twice: bool = False) -> str:
        """Add y = x W^T + b as the equation of this file has it."""
        codes, scales = quantize(weight)
        rows, columns = self.weight(codes.T), self.weight(scales[:, 0])
        scale = self._scale_rows(x, zero)
        flat = self.node("Squeeze", scale, self.numbers(-1))

        def multiply(x: str, flat: str, step: float) -> tuple[str, str]:
            x_codes = self.node("QuantizeLinear", x, flat, self._zeros[zero], axis=0)
            x_zero = self.constant(np.array(zero, dtype=np.uint8))
            operands = x_codes, rows, self.number(step), columns, x_zero
            return x_codes, self.node("MatMulIntegerToFloat", *operands, domain=RUNTIME)

        x_codes, product = multiply(x, flat, 1)
        if twice:
            coarse = self.node("DequantizeLinear", x_codes, flat, self._zeros[zero], axis=0)
            step = self.node("Mul", flat, self.number(1 / TOP))
            _, rest = multiply(self.node("Sub", x, coarse), step, 1 / TOP)
            product = self.node("Add", product, rest)
        return self.node("Add", self.node("Mul", product, scale), self.weight(bias))

    def _scale_rows(self, x: str, zero: int) -> str:
        """Add the scale of each row: [row 1]."""
        if zero == MIDDLE:
            largest = self.node("ReduceMax", self.node("Abs", x), self.numbers(-1), keepdims=1)
            return self.node("Mul", largest, self.number(1 / MIDDLE))
        largest = self.node("ReduceMax", x, self.numbers(-1), keepdims=1)
        return self.node(
            "Max", self.node("Mul", largest, self.number(1 / (TOP - LOW))), self.number(LOWEST / LOW)
        )
