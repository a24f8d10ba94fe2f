"""Put a bank beside feed-forward blocks of a T5 decoder, under the names the authors' checkpoints use.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), section 3: with n = norm(h), the block gives
h + dropout(FFN(n)) + Bank(n). A plain T5 checkpoint fits the mounted model, and the other way round once the
keys that contain `_ex` or `ex_ada` are dropped.
"""

from jaxtyping import Float
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5LayerFF

from models.nkb.bank import Bank, Init
from models.nkb.config import BankConfig


class KnowledgeLayer(nn.Module):
    """T5's feed-forward sublayer with a bank that shares its norm."""

    def __init__(self, plain: T5LayerFF, bank: Bank) -> None:
        super().__init__()
        self.DenseReluDense = plain.DenseReluDense
        self.layer_norm = plain.layer_norm
        self.dropout = plain.dropout
        for name, child in bank.named_children():
            self.DenseReluDense.add_module(name, child)
        self.__dict__["bank"] = bank  # its children are registered above, once, under the authors' names

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


def mount(
    t5: T5ForConditionalGeneration, config: BankConfig, init: Init = "zero_values"
) -> T5ForConditionalGeneration:
    """The same model, with new banks in `config.layers` (changed in place, and returned).

    ValueError when the decoder lacks a layer, or a layer has a bank already.
    """
    config.check(len(t5.decoder.block))
    for layer in config.layers:
        _mount_one(t5, layer, Bank(t5.config.d_model, config.size, config.adaptive, init))
    for key, value in config.format().items():
        setattr(t5.config, key, value)
    return t5


def _mount_one(t5: T5ForConditionalGeneration, layer: int, bank: Bank) -> None:
    block = t5.decoder.block[layer]
    plain = block.layer[-1]
    if not isinstance(plain, T5LayerFF):
        raise ValueError(f"decoder layer {layer} already carries a {type(plain).__name__}: mount banks once")
    block.layer[-1] = KnowledgeLayer(plain, bank.to(plain.layer_norm.weight.device)).train(plain.training)


def bank_of(t5: T5ForConditionalGeneration, layer: int) -> Bank | None:
    """The bank in a decoder layer, if it has one."""
    sublayer = t5.decoder.block[layer].layer[-1]
    return sublayer.slots if isinstance(sublayer, KnowledgeLayer) else None
