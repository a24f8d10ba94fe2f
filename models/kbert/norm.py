"""The two things that are called layer norm.

UER, the library of K-BERT's authors, divides by the standard deviation with N - 1, and adds epsilon to it. BERT
(Devlin et al., arXiv:1810.04805) divides by the root of the biased variance plus epsilon. A checkpoint fits one of
them: over 12 layers the outputs differ by some thousandths (specs/kbert.md, section 4).
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.kbert.config import Norm

UER_EPSILON, BERT_EPSILON = 1e-6, 1e-12


class LayerNorm(nn.Module):
    """gamma and beta are the names in the authors' files."""

    def __init__(self, width: int, norm: Norm) -> None:
        super().__init__()
        self.norm: Norm = norm
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*row width"]) -> Float[Tensor, "*row width"]:
        if self.norm == "bert":
            return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, BERT_EPSILON)
        deviation, mean = torch.std_mean(x, -1, keepdim=True)
        return self.gamma * (x - mean) / (deviation + UER_EPSILON) + self.beta
