"""The sense network: the sense vectors of a token, from its embedding alone.

Hewitt et al., arXiv:2305.16765, section 2.2, as the authors' code has it: the block's mixer is the identity, so the
output of its first norm is added to the residual.

    r1 = LN_0(e) + e,   r2 = MLP(LN_1(r1)) + r1,   senses = MLP_final(LN_2(r2))
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.backpack.config import BackpackConfig


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


class SenseBlock(nn.Module):
    """The norms and the feed-forward layer between a token's embedding and its senses."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width, config.epsilon)
        self.ln_2 = nn.LayerNorm(config.width, config.epsilon)
        self.mlp = Mlp(config.width, 4 * config.width, config.width)


class SenseNetwork(nn.Module):
    """C(x): no position and no context enters it, so a token has the same senses wherever it stands."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self._senses = config.senses
        self.ln = nn.LayerNorm(config.width, config.epsilon)
        self.block = SenseBlock(config)
        self.final_mlp = Mlp(config.width, 4 * config.width, config.senses * config.width)

    def forward(self, embedded: Float[Tensor, "*token width"]) -> Float[Tensor, "*token sense width"]:
        """Return the senses of embedded tokens."""
        residual = self.ln(embedded) + embedded
        residual = self.block.mlp(self.block.ln_1(residual)) + residual
        senses: Tensor = self.final_mlp(self.block.ln_2(residual))
        return senses.view(*embedded.shape[:-1], self._senses, embedded.shape[-1])
