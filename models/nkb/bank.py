"""The Neural Knowledge Bank: key/value slots beside feed-forward blocks of a T5 decoder.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), section 3 and equations 8 to 10. With n = norm(h), a block gives
h + dropout(FFN(n)) + Bank(n):

    w' = relu(n K^T)        K = wi_ex.weight [slot d], row i is key i         (8)
    ex = w' V               V = wo_ex.weight^T [slot d], row i is value i     (10)

The adapter variant is in the authors' code only: ex = A_out(relu(A_in(n) K^T) V), A_in and A_out with biases. Names
of weights and of config.json's keys (`kb_layer`, a comma string, `ex_size`, `adaptive_nkb`) are the authors'. A plain
T5 checkpoint fits the mounted model, and the other way round once the keys that contain `_ex` or `ex_ada` are dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.nkb.skeleton import T5

LAYERS, SIZE, ADAPTIVE = "kb_layer", "ex_size", "adaptive_nkb"


@dataclass(frozen=True)
class BankConfig:
    """Shape of the banks."""

    layers: tuple[int, ...]  # decoder layers with a bank, ascending
    size: int  # slots of each bank (d')
    adaptive: bool  # whether banks have the linear maps of the adapter

    def __post_init__(self) -> None:
        if any(layer < 0 for layer in self.layers):
            raise ValueError(f"{LAYERS}: layers count from 0, not {self.layers!r}")
        if list(self.layers) != sorted(set(self.layers)):
            raise ValueError(f"{LAYERS}: {self.layers!r} must name each layer once, in ascending order")
        if self.size < (1 if self.layers else 0):
            raise ValueError(f"{SIZE}: a bank has at least one slot, not {self.size}")

    @staticmethod
    def parse(config: Mapping[str, Any]) -> "BankConfig":
        """Read the banks that a checkpoint's config.json describes; a plain T5 has none."""
        text = config.get(LAYERS, "")
        if not isinstance(text, str):
            raise ValueError(f"{LAYERS}: a comma string such as '10,11', not {text!r}")
        parts = [part.strip() for part in text.split(",")] if text.strip() else []
        if not all(part.isdecimal() for part in parts):
            raise ValueError(f"{LAYERS}: layer numbers separated by commas, such as '10,11', not {text!r}")
        layers = tuple(sorted(int(part) for part in parts))
        if layers and SIZE not in config:
            raise ValueError(f"{SIZE} is missing, but {LAYERS} says {config[LAYERS]!r}: how many slots?")
        size, adaptive = config.get(SIZE, 0), config.get(ADAPTIVE, False)
        if not isinstance(size, int) or isinstance(size, bool):
            raise ValueError(f"{SIZE}: a whole number of slots, not {size!r}")
        if not isinstance(adaptive, bool):
            raise ValueError(f"{ADAPTIVE}: true or false, not {adaptive!r}")
        return BankConfig(layers, size, adaptive)

    def format(self) -> dict[str, Any]:
        """Return the authors' keys, as `parse` reads them."""
        return {LAYERS: ",".join(map(str, self.layers)), SIZE: self.size, ADAPTIVE: self.adaptive}

    def check(self, n_layers: int) -> None:
        """Check that a decoder of `n_layers` has all these layers. ValueError: it lacks a layer."""
        for layer in self.layers:
            if layer >= n_layers:
                raise ValueError(
                    f"{LAYERS}: layer {layer} does not exist, the decoder has 0 to {n_layers - 1}"
                )


class Bank(nn.Module):
    """Slots beside one feed-forward block, in fp32 whatever the backbone is in.

    A new bank has random keys, and adds exactly nothing until it is trained or edited.
    """

    def __init__(self, d_model: int, size: int, adaptive: bool) -> None:
        super().__init__()
        self.wi_ex = nn.Linear(d_model, size, bias=False, dtype=torch.float32)
        self.wo_ex = nn.Linear(size, d_model, bias=False, dtype=torch.float32)
        self.ex_ada_in = nn.Linear(d_model, d_model, dtype=torch.float32) if adaptive else None
        self.ex_ada_out = nn.Linear(d_model, d_model, dtype=torch.float32) if adaptive else None
        with torch.no_grad():
            self.wo_ex.weight.zero_()
            if self.ex_ada_out is not None:
                self.ex_ada_out.bias.zero_()

    def slot_weights(self, n: Float[Tensor, "*position d"]) -> Float[Tensor, "*position slot"]:
        """Return how strongly each slot fires on a normalised state (eq. 8)."""
        slot_input = n if self.ex_ada_in is None else self.ex_ada_in(n)
        return F.relu(self.wi_ex(slot_input))

    def forward(self, n: Float[Tensor, "*position d"]) -> Float[Tensor, "*position d"]:
        """Return the addition to the residual (eq. 10), without dropout, scale or gate."""
        ex: Tensor = self.wo_ex(self.slot_weights(n))
        if self.ex_ada_out is not None:
            ex = self.ex_ada_out(ex)
        return ex

    @property
    def values(self) -> Float[Tensor, "slot d"]:
        """The stored columns as a view whose row i is value i."""
        return self.wo_ex.weight.t()


class KnowledgeLayer(nn.Module):
    """T5's feed-forward sublayer with a bank that shares its norm."""

    def __init__(self, plain: T5, bank: Bank) -> None:
        super().__init__()
        self.DenseReluDense = plain.DenseReluDense
        self.layer_norm = plain.layer_norm
        self.dropout = plain.dropout
        for name, child in bank.named_children():
            self.DenseReluDense.add_module(name, child)
        self.__dict__["bank"] = bank  # its children are registered above

    @property
    def slots(self) -> Bank:
        bank = self.__dict__["bank"]
        assert isinstance(bank, Bank)
        return bank

    def forward(self, hidden_states: Float[Tensor, "batch token d"]) -> Float[Tensor, "batch token d"]:
        n = self.layer_norm(hidden_states)
        ori: Tensor = hidden_states + self.dropout(self.DenseReluDense(n))
        ex = self.slots(n.to(self.slots.wi_ex.weight.dtype))
        total: Tensor = ori + ex
        return total.to(hidden_states.dtype)


def mount(t5: T5, config: BankConfig) -> T5:
    """Add new banks to a model in `config.layers`, in place, and return it.

    ValueError: the decoder lacks a layer, or a layer has a bank already.
    """
    config.check(len(t5.decoder.block))
    for layer in config.layers:
        sublayers = t5.decoder.block[layer].layer
        plain = sublayers[-1]
        if isinstance(plain, KnowledgeLayer):
            raise ValueError(
                f"decoder layer {layer} already carries a {type(plain).__name__}: mount banks once"
            )
        bank = Bank(t5.config.d_model, config.size, config.adaptive)
        bank = bank.to(plain.layer_norm.weight.device)
        sublayers[-1] = KnowledgeLayer(plain, bank).train(plain.training)
    for key, value in config.format().items():
        setattr(t5.config, key, value)
    return t5


def bank_of(t5: T5, layer: int) -> Bank | None:
    """Return the bank in a decoder layer; None without one."""
    sublayer = t5.decoder.block[layer].layer[-1]
    return sublayer.slots if isinstance(sublayer, KnowledgeLayer) else None
