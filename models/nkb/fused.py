"""A mounted decoder's weights, fused into as few products as one decoding step can do with.

Every norm's weight is multiplied into the matrix that reads the norm. The bank becomes further rows of the
feed-forward matrices (the paper's equation 9: one block of d_ff + d' slots); the adapter's linear maps are
multiplied into its keys and values, and its output bias is one more slot that is always on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.activations import ACT2FN
from transformers.models.t5.modeling_t5 import T5LayerFF

from models.matrix import Matrix
from models.nkb.bank import Bank
from models.nkb.mount import KnowledgeLayer, bank_of


@dataclass(frozen=True)
class Slots:
    """A bank with its adapter multiplied in. keys, bias: None bias when there is no adapter.

    values: rows as they act, the adapter's bias row last. stored: rows as the checkpoint keeps them.
    """

    keys: Float[Tensor, "acting d"]
    bias: Float[Tensor, " acting"] | None
    values: Float[Tensor, "acting d"]
    stored: Float[Tensor, "slot d"]
    out: Float[Tensor, "d d"] | None

    def acting(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """What stored value rows add to the residual for one unit of slot weight."""
        return rows if self.out is None else rows @ self.out.t()


@dataclass(frozen=True)
class FeedForward:
    """up: [d_ff (twice if gated) + acting slots, d]. down: [d, d_ff + acting slots]."""

    up: Matrix
    down: Matrix
    d_ff: int
    gated: bool
    act: Callable[[Tensor], Tensor] | None
    slots: Slots | None
    norm: Float[Tensor, " d"]

    def activate(self, unit: Float[Tensor, "*position d"]) -> Float[Tensor, "*position wide"]:
        """Activations of the block's own slots, then of the bank's."""
        if self.act is None:
            return self.up.relu(unit)
        return self._activate_other(self.up(unit), self.act)

    def _activate_other(self, wide: Tensor, act: Callable[[Tensor], Tensor]) -> Tensor:
        own = act(wide[..., : self.d_ff])
        rest = self.d_ff
        if self.gated:
            own = own * wide[..., self.d_ff : 2 * self.d_ff]
            rest = 2 * self.d_ff
        return own if self.slots is None else torch.cat([own, F.relu(wide[..., rest:])], -1)


@dataclass(frozen=True)
class Layer:
    """One decoder block. qkv and query have their norm multiplied in."""

    qkv: Matrix
    out: Matrix
    query: Matrix
    cross_out: Matrix
    feed_forward: FeedForward


def fuse(t5: T5ForConditionalGeneration, index: int) -> Layer:
    own, cross, forward = t5.decoder.block[index].layer
    attention, reading = own.SelfAttention, cross.EncDecAttention
    qkv = torch.cat([attention.q.weight, attention.k.weight, attention.v.weight])
    return Layer(
        qkv=Matrix(qkv * own.layer_norm.weight),
        out=Matrix(attention.o.weight),
        query=Matrix(reading.q.weight * cross.layer_norm.weight),
        cross_out=Matrix(reading.o.weight),
        feed_forward=_feed_forward(t5, forward, bank_of(t5, index)),
    )


def cross_keys_values(t5: T5ForConditionalGeneration) -> Matrix:
    """Keys and values of every layer's reading of the encoder, ordered [layer, key or value, head, d_kv]."""
    readings = [block.layer[1].EncDecAttention for block in t5.decoder.block]
    return Matrix(torch.cat([weight for r in readings for weight in (r.k.weight, r.v.weight)]))


def _feed_forward(
    t5: T5ForConditionalGeneration, sublayer: T5LayerFF | KnowledgeLayer, bank: Bank | None
) -> FeedForward:
    dense, norm = sublayer.DenseReluDense, sublayer.layer_norm.weight.detach().float().clone()
    gated = bool(t5.config.is_gated_act)
    own = torch.cat([dense.wi_0.weight, dense.wi_1.weight]) if gated else dense.wi.weight
    slots = None if bank is None else _slots(bank)
    up, down, bias = own.float(), dense.wo.weight.float(), None
    if slots is not None:
        up, down = torch.cat([up, slots.keys]), torch.cat([down, slots.values.t()], 1)
        bias = None if slots.bias is None else torch.cat([slots.bias.new_zeros(len(own)), slots.bias])
    return FeedForward(
        up=Matrix(up * norm, bias),
        down=Matrix(down),
        d_ff=t5.config.d_ff,
        gated=gated,
        act=None if t5.config.dense_act_fn == "relu" and not gated else ACT2FN[t5.config.dense_act_fn],
        slots=slots,
        norm=norm,
    )


def _slots(bank: Bank) -> Slots:
    keys, stored = bank.wi_ex.weight.detach().float(), bank.values.detach().float().contiguous().clone()
    if bank.ex_ada_in is None or bank.ex_ada_out is None:
        return Slots(keys, None, stored, stored, None)
    inner, outer = bank.ex_ada_in, bank.ex_ada_out
    always_on = torch.zeros(1, keys.shape[1], device=keys.device)
    bias = (keys.double() @ inner.bias.detach().double()).float()
    return Slots(
        keys=torch.cat([(keys.double() @ inner.weight.detach().double()).float(), always_on]),
        bias=torch.cat([bias, bias.new_ones(1)]),
        values=torch.cat([_through(stored, outer), outer.bias.detach().float()[None]]),
        stored=stored,
        out=outer.weight.detach().float().clone(),
    )


def _through(stored: Tensor, outer: nn.Linear) -> Tensor:
    return (stored.double() @ outer.weight.detach().double().t()).float()
