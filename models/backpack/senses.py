"""Sizes of a Backpack, and its sense network: the sense vectors of a token, from its embedding alone.

Hewitt et al., arXiv:2305.16765, section 2.2, as the authors' code has it: the block's mixer is the identity, so the
output of its first norm is added to the residual.

    r1 = LN_0(e) + e,   r2 = MLP(LN_1(r1)) + r1,   senses = MLP_final(LN_2(r2))
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

HF_NAMES = {  # our field -> the field of the published config.json
    "vocab": "vocab_size",
    "words": "unpadded_vocab_size",
    "senses": "num_senses",
    "width": "n_embd",
    "layers": "n_layer",
    "heads": "n_head",
    "positions": "n_positions",
    "epsilon": "layer_norm_epsilon",
    "end": "eos_token_id",
}
CONSTANTS = {  # field of config.json -> its value where it is left out, and the only one that is computed
    "scale_attn_by_inverse_layer_idx": (False, True),
    "scale_attn_weights": (True, True),
    "activation_function": ("gelu_new", "gelu_new"),
    "tie_word_embeddings": (True, True),
}


@dataclass(frozen=True)
class BackpackConfig:
    """Sizes of the network; Hewitt et al., arXiv:2305.16765, sections 2 and 4."""

    vocab: int  # rows of the embedding, padding included
    words: int  # number of token ids with a text; those from here to `vocab` are padding and never answered
    senses: int  # sense vectors of each token
    width: int  # size of a sense vector, of an embedding and of the context network's states
    layers: int
    heads: int
    positions: int  # longest text in tokens
    epsilon: float
    end: int  # id of the token that ends a text, which an empty prompt begins with

    def __post_init__(self) -> None:
        for part, size in (("senses", self.senses), ("heads", self.heads)):
            if size < 1 or self.width % size:
                raise ValueError(f"{part} is {size}, which does not divide the width {self.width}")
        if not 0 < self.words <= self.vocab:
            raise ValueError(
                f"words is {self.words}: it has to lie between 1 and the {self.vocab} rows of the vocabulary"
            )
        if not 0 <= self.end < self.words:
            raise ValueError(f"end is {self.end}, which is no token id under {self.words}")

    @staticmethod
    def from_hf(config: Mapping[str, Any]) -> "BackpackConfig":
        """Read the fields of a published config.json.

        Raises:
            ValueError: A field is missing, or the checkpoint computes something else than a Backpack does.
        """
        for name, (default, expected) in CONSTANTS.items():
            if (value := config.get(name, default)) != expected:
                raise ValueError(f"{name} is {value!r}; this Backpack computes with {expected!r} alone")
        config = {"unpadded_vocab_size": config.get("vocab_size"), **config}
        if missing := [name for name in HF_NAMES.values() if config.get(name) is None]:
            raise ValueError(f"config.json lacks {', '.join(missing)}")
        return BackpackConfig(**{field: config[name] for field, name in HF_NAMES.items()})

    def to_hf(self) -> dict[str, Any]:
        """Return the fields as the published config.json names them."""
        fields = {name: asdict(self)[field] for field, name in HF_NAMES.items()}
        return {"model_type": "backpack-gpt2", "scale_attn_by_inverse_layer_idx": True, **fields}


class Mlp(nn.Module):
    """Two linear layers with GELU in its tanh form between them."""

    def __init__(self, width: int, inner: int, out: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, inner)
        self.c_proj = nn.Linear(inner, out)

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows out"]:
        """Apply both layers."""
        projection: Tensor = self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))
        return projection


class SenseNetwork(nn.Module):
    """C(x): no position and no context enters it, so a token has the same senses wherever it stands."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self._senses = config.senses
        norms = {name: nn.LayerNorm(config.width, config.epsilon) for name in ("ln", "ln_1", "ln_2")}
        self.ln, mlp = norms.pop("ln"), Mlp(config.width, 4 * config.width, config.width)
        self.block = nn.ModuleDict({**norms, "mlp": mlp})
        self.final_mlp = Mlp(config.width, 4 * config.width, config.senses * config.width)

    def forward(self, embedded: Float[Tensor, "*token width"]) -> Float[Tensor, "*token sense width"]:
        """Return the senses of embedded tokens."""
        residual = self.ln(embedded) + embedded
        residual = self.block["mlp"](self.block["ln_1"](residual)) + residual
        senses: Tensor = self.final_mlp(self.block["ln_2"](residual))
        return senses.view(*embedded.shape[:-1], self._senses, embedded.shape[-1])
