"""A mounted decoder's weights, fused into as few products as one decoding step can do with.

Every norm's weight is multiplied into the matrix that reads the norm. The bank's keys become further rows
of the feed-forward matrix (the paper's equation 9: one block of d_ff + d' slots); the adapter's linear maps are
multiplied into its keys and values, and its output bias is one more slot that is always on. The bank's values keep a
separate float32 product. T5's relative position bias becomes a table that a step only slices.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.matrix import Matrix
from models.nkb.bank import Bank, bank_of
from models.nkb.skeleton import T5


@dataclass(frozen=True)
class Slots:
    """A bank with its adapter multiplied in."""

    keys: Float[Tensor, "acting d"]
    bias: Float[Tensor, " acting"] | None  # bias of the keys; None without an adapter
    values: Float[Tensor, "acting d"]  # rows as they act, the adapter's bias row last
    stored_rows: Float[Tensor, "slot d"]  # rows as the checkpoint keeps them
    out: Float[Tensor, "d d"] | None

    def acting(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the addition of stored value rows to the residual for one unit of slot weight."""
        return rows if self.out is None else rows @ self.out.t()


@dataclass(frozen=True)
class FeedForward:
    """A feed-forward block with the slots of its bank."""

    up: Matrix  # [d_ff (twice if gated) + acting slots, d]
    down: Matrix  # [d, d_ff]
    d_ff: int
    gated: bool
    act: Callable[[Tensor], Tensor]
    slots: Slots | None
    norm: Float[Tensor, " d"]  # weight of its norm

    def activate(self, unit: Float[Tensor, "*position d"]) -> Float[Tensor, "*position wide"]:
        """Return the activations of the block's own slots, then of the bank's."""
        wide = self.up(unit)
        inner, rest = self.act(wide[..., : self.d_ff]), self.d_ff
        if self.gated:
            inner, rest = inner * wide[..., self.d_ff : 2 * self.d_ff], 2 * self.d_ff
        return inner if self.slots is None else torch.cat([inner, F.relu(wide[..., rest:])], -1)

    def add_output(
        self, active: Float[Tensor, "*position wide"], bank: Float[Tensor, "*position acting"], h: Tensor
    ) -> Float[Tensor, "*position d"]:
        """Return h + FFN + bank, with the slot weights of the bank in float32."""
        out = self.down.add(active[..., : self.d_ff], h)
        return out if self.slots is None else out + bank @ self.slots.values


@dataclass(frozen=True)
class Layer:
    """One decoder block; `qkv` and `query` have their norm multiplied in."""

    qkv: Matrix
    out: Matrix
    query: Matrix
    cross_out: Matrix
    feed_forward: FeedForward


def fuse(t5: T5, index: int, dtype: torch.dtype = torch.float32) -> Layer:
    """Fuse one decoder block, with matrices in `dtype`; norms and the bank's values stay float32."""
    self_block, cross, forward = t5.decoder.block[index].layer
    attention, reading = self_block.SelfAttention, cross.EncDecAttention
    qkv = torch.cat([attention.q.weight, attention.k.weight, attention.v.weight])
    return Layer(
        qkv=Matrix(qkv * self_block.layer_norm.weight, dtype=dtype),
        out=Matrix(attention.o.weight, dtype=dtype),
        query=Matrix(reading.q.weight * cross.layer_norm.weight, dtype=dtype),
        cross_out=Matrix(reading.o.weight, dtype=dtype),
        feed_forward=_feed_forward(t5, forward, bank_of(t5, index), dtype),
    )


def cross_keys_values(t5: T5) -> Float[Tensor, "wide d"]:
    """Fuse the keys and values by which all layers read the encoder, ordered [layer, key or value, head, d_kv]."""
    readings = [block.layer[1].EncDecAttention for block in t5.decoder.block]
    return torch.cat([weight for r in readings for weight in (r.k.weight, r.v.weight)]).detach().float()


def _feed_forward(
    t5: T5,
    sublayer: T5,
    bank: Bank | None,
    dtype: torch.dtype,
) -> FeedForward:
    dense, norm = sublayer.DenseReluDense, sublayer.layer_norm.weight.detach().float().clone()
    gated = bool(t5.config.is_gated_act)
    inner = torch.cat([dense.wi_0.weight, dense.wi_1.weight]) if gated else dense.wi.weight
    slots = None if bank is None else _slots(bank)
    up, bias = inner.float(), None
    if slots is not None:
        up = torch.cat([up, slots.keys])
        bias = None if slots.bias is None else torch.cat([slots.bias.new_zeros(len(inner)), slots.bias])
    return FeedForward(
        up=Matrix(up * norm, bias, dtype),
        down=Matrix(dense.wo.weight, dtype=dtype),
        d_ff=t5.config.d_ff,
        gated=gated,
        act=_activation(t5.config.dense_act_fn),
        slots=slots,
        norm=norm,
    )


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    if name == "relu":
        return F.relu
    from transformers.activations import ACT2FN  # late: only a T5 of the library has another

    activation: Callable[[Tensor], Tensor] = ACT2FN[name]
    return activation


def _slots(bank: Bank) -> Slots:
    """Multiply the adapter's maps into a bank, in float64, and round once."""
    keys, stored_rows = bank.wi_ex.weight.detach().float(), bank.values.detach().float().contiguous().clone()
    if bank.ex_ada_in is None or bank.ex_ada_out is None:
        return Slots(keys, None, stored_rows, stored_rows, None)
    inner, outer = bank.ex_ada_in, bank.ex_ada_out
    always_on = torch.zeros(1, keys.shape[1], device=keys.device)
    bias = (keys.double() @ inner.bias.detach().double()).float()
    values = (stored_rows.double() @ outer.weight.detach().double().t()).float()
    return Slots(
        keys=torch.cat([(keys.double() @ inner.weight.detach().double()).float(), always_on]),
        bias=torch.cat([bias, bias.new_ones(1)]),
        values=torch.cat([values, outer.bias.detach().float()[None]]),
        stored_rows=stored_rows,
        out=outer.weight.detach().float().clone(),
    )
