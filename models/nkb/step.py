"""One step of a mounted decoder as a graph on the engine. Whatever versions a batch mixes, nothing is compiled anew.

The rows that an edit changes are inputs: with a the slot weights of a bank, the graph adds (a[slots] * member) rows, as
`Changes` has it, and in the last layer a gate's row in place of the bank's output, as `GateRows` has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from onnx import TensorProto
from torch import Tensor

from models.kit.engine import Graph
from models.nkb.fused import FeedForward, Layer
from models.nkb.overlay import Changes, GateRows

Activation = Callable[[Graph, str], str]
# How transformers' activations are written in a graph
ACTIVATIONS: dict[str, Activation] = {
    "relu": lambda graph, x: graph.node("Relu", x),
    "gelu": lambda graph, x: graph.node("Gelu", x),
    "gelu_new": lambda graph, x: graph.node("Gelu", x, approximate="tanh"),
    "silu": lambda graph, x: graph.node("Mul", x, graph.node("Sigmoid", x)),
}


@dataclass
class Run:
    """State of one decoding call from step to step. It changes, and belongs to that call."""

    # Keys of the tokens so far in layer 0, their values, those of layer 1 ...: [batch head length d_kv] each
    cache: list[Tensor]
    encoder_kv: list[Tensor]  # keys and values of the encoder's states likewise: [batch head state d_kv] each
    bias: Float[Tensor, "batch 1 1 state"]  # 0 at real states, very negative at padding
    changes: dict[int, Changes] = field(default_factory=dict)
    gates: GateRows | None = None

    @property
    def length(self) -> int:
        """Tokens so far."""
        return self.cache[0].shape[2]

    def select(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows of the batch only, in this order; a row may be named more than once."""
        self.cache = [part[rows] for part in self.cache]
        self.encoder_kv = [part[rows] for part in self.encoder_kv]
        self.bias = self.bias[rows]
        self.changes = {layer: change.select(rows) for layer, change in self.changes.items()}
        self.gates = None if self.gates is None else self.gates.select(rows)


class Step:
    """The next token of each row of a batch. Threads may share it.

    Args:
        layers: The decoder's layers, in float32.
        cross: Matrices by which the layers read the encoder, as `cross_keys_values` orders them.
        head: The output matrix, with the final norm multiplied in.
        positions: T5's position bias for each pair of places.
        activation: Name of the activation of the feed-forward blocks, of ACTIVATIONS.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        embedding: Float[Tensor, "token d"],
        cross: Float[Tensor, "wide d"],
        head: Float[Tensor, "token d"],
        positions: Float[Tensor, "1 head query key"],
        d_kv: int,
        epsilon: float,
        activation: str,
    ) -> None:
        heads = positions.shape[1]
        self._positions = positions
        self._banks = [index for index, layer in enumerate(layers) if layer.feed_forward.slots is not None]
        self._d_model = embedding.shape[1]
        self._read = _ReadGraph(len(layers), cross, heads, d_kv).load()
        self._step = _StepGraph(layers, embedding, head, heads, d_kv, epsilon, ACTIVATIONS[activation]).load()

    def read(self, states: Float[Tensor, "batch state d"]) -> list[Tensor]:
        """Return the keys and values of the encoder's states, as a run holds them."""
        return self._read({"states": states})

    def __call__(
        self, run: Run, tokens: Int[Tensor, "batch 1"], count: int
    ) -> tuple[Float[Tensor, "batch count"], Int[Tensor, "batch count"]]:
        """Return log probabilities and ids of the best next tokens, best first. The cache grows by a token."""
        start, batch = run.length, len(tokens)
        inputs = {
            "tokens": tokens,
            "position_bias": self._positions[:, :, start : start + 1, : start + 1],
            "state_bias": run.bias,
            "count": torch.tensor([count]),
        }
        for name, parts in (("cache", run.cache), ("state", run.encoder_kv)):
            inputs |= {f"{name}.{place}": part for place, part in enumerate(parts)}
        for index in self._banks:
            change = run.changes.get(index)
            inputs[f"member.{index}"] = torch.zeros(batch, 1) if change is None else change.member
            inputs[f"slots.{index}"] = torch.zeros(1, dtype=torch.long) if change is None else change.slots
            inputs[f"rows.{index}"] = torch.zeros(1, self._d_model) if change is None else change.rows
        inputs["is_open"], inputs["gate"] = self._gates(run.gates, start, batch)
        scores, ids, *run.cache = self._step(inputs)
        return scores, ids

    def _gates(self, gates: GateRows | None, start: int, batch: int) -> tuple[Tensor, Tensor]:
        if gates is None or not gates.reach(start):
            return torch.ones(batch, 1, 1), torch.zeros(batch, 1, self._d_model)
        step = slice(start, start + 1)
        return gates.is_open[:, step], gates.steps[:, step]


class _ReadGraph(Graph):
    """The keys and values by which all layers read the encoder's states."""

    def __init__(self, n_layers: int, cross: Float[Tensor, "wide d"], heads: int, d_kv: int) -> None:
        super().__init__()
        self.input("states", "batch", "state", cross.shape[1])
        parts = self.node(
            "Reshape", self.linear("states", cross), self.numbers(0, 0, 2 * n_layers * heads, d_kv)
        )
        for place, part in enumerate(
            self.nodes(
                "Split", 2 * n_layers, self.swap_axes(parts, 0, 2, 1, 3), axis=1, num_outputs=2 * n_layers
            )
        ):
            self.output(part, f"state.{place}", "batch", heads, "state", d_kv)


class _StepGraph(Graph):
    """All layers and the output matrix for one new token of each row."""

    def __init__(
        self,
        layers: Sequence[Layer],
        embedding: Float[Tensor, "token d"],
        head: Float[Tensor, "token d"],
        heads: int,
        d_kv: int,
        epsilon: float,
        activation: Activation,
    ) -> None:
        super().__init__()
        self._heads, self._d_kv, self._epsilon, self._activation = heads, d_kv, epsilon, activation
        self._d_model = embedding.shape[1]
        self._plain = self.weight(torch.ones(self._d_model))
        self.input("tokens", "batch", 1, type=TensorProto.INT64)
        self.input("position_bias", 1, heads, 1, "now")
        self.input("state_bias", "batch", 1, 1, "state")
        self.input("count", 1, type=TensorProto.INT64)
        self.input("is_open", "batch", 1, 1)
        self.input("gate", "batch", 1, self._d_model)
        x, cache = self.node("Gather", self.weight(embedding), "tokens"), []
        for index, layer in enumerate(layers):
            x, key, value = self._attend(layer, x, index)
            x = self._attend_states(layer, x, index)
            x = self._feed(layer.feed_forward, x, index, is_last=layer is layers[-1])
            cache += [key, value]
        logits = self.node("Squeeze", self.linear(self._unit(x), head), self.numbers(1))
        scores, ids = self.nodes("TopK", 2, self.node("LogSoftmax", logits, axis=-1), "count", axis=-1)
        self.output(scores, "scores", "batch", "count")
        self.output(ids, "ids", "batch", "count", type=TensorProto.INT64)
        for place, part in enumerate(cache):
            self.output(part, f"cache.{place}.now", "batch", heads, "now", d_kv)

    def _unit(self, x: str) -> str:
        """Add the RMS norm without its weight."""
        return self.node("SimplifiedLayerNormalization", x, self._plain, axis=-1, epsilon=self._epsilon)

    def _split_heads(self, x: str) -> str:
        parts = self.node("Reshape", x, self.numbers(0, 0, self._heads, self._d_kv))
        return self.swap_axes(parts, 0, 2, 1, 3)

    def _read(self, query: str, key: str, value: str, bias: str) -> str:
        """Add attention with scores that are not scaled: [batch 1 wide]."""
        scores = self.node("MatMul", query, self.swap_axes(key, 0, 1, 3, 2))
        context = self.node("MatMul", self.node("Softmax", self.node("Add", scores, bias), axis=-1), value)
        return self.node(
            "Reshape", self.swap_axes(context, 0, 2, 1, 3), self.numbers(0, 0, self._heads * self._d_kv)
        )

    def _attend(self, layer: Layer, x: str, index: int) -> tuple[str, str, str]:
        """Add self-attention; return its sum with x, and keys and values of all tokens."""
        qkv = self.linear(self._unit(x), layer.qkv.weight)
        query, *new = (
            self._split_heads(part) for part in self.nodes("Split", 3, qkv, axis=-1, num_outputs=3)
        )
        key, value = (
            self.node("Concat", self._keep(f"cache.{2 * index + place}", "past"), part, axis=2)
            for place, part in enumerate(new)
        )
        context = self._read(query, key, value, "position_bias")
        return self.node("Add", x, self.linear(context, layer.out.weight)), key, value

    def _attend_states(self, layer: Layer, x: str, index: int) -> str:
        query = self._split_heads(self.linear(self._unit(x), layer.query.weight))
        key, value = (self._keep(f"state.{2 * index + place}", "state") for place in range(2))
        context = self._read(query, key, value, "state_bias")
        return self.node("Add", x, self.linear(context, layer.cross_out.weight))

    def _keep(self, name: str, length: str) -> str:
        return self.input(name, "batch", self._heads, length, self._d_kv)

    def _feed(self, block: FeedForward, x: str, index: int, is_last: bool) -> str:
        wide = self.linear(self._unit(x), block.up.weight, block.up.bias)
        acting = 0 if block.slots is None else len(block.slots.keys)
        sizes = [block.d_ff] * (1 + block.gated) + [acting] * (acting > 0)
        inner, *rest = self.nodes("Split", len(sizes), wide, self.numbers(*sizes), axis=-1)
        inner = self._activation(self, inner)
        if block.gated:
            inner = self.node("Mul", inner, rest[0])
        out = self.node("Add", x, self.linear(inner, block.down.weight))
        if block.slots is not None:
            bank = self.node("Relu", rest[-1])
            bank = self.node("Mul", bank, "is_open") if is_last else bank
            out = self.node("Add", out, self.node("MatMul", bank, self.weight(block.slots.values)))
            out = self.node("Add", out, self._change(bank, index))
        return self.node("Add", out, "gate") if is_last else out

    def _change(self, bank: str, index: int) -> str:
        """Add what the changed rows of a bank add: [batch 1 d]."""
        member = self.input(f"member.{index}", "batch", f"changed.{index}")
        slots = self.input(f"slots.{index}", f"changed.{index}", type=TensorProto.INT64)
        rows = self.input(f"rows.{index}", f"changed.{index}", self._d_model)
        weights = self.node("Gather", bank, slots, axis=-1)
        return self.node(
            "MatMul", self.node("Mul", weights, self.node("Unsqueeze", member, self.numbers(1))), rows
        )
