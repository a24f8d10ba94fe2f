"""The offset t that a row wants on top of x, found without a pass of the model.

    min over t   CE(head(rmsnorm(x + t)), y) + wd |t|^2 / |x|^2,   |t| <= |x|

The objective is that of MEMIT's own search (Meng et al., arXiv:2210.07229, section 4.3), with the rest of the model
left out: behind the last bank there is only the final norm and the head. Rows do not know each other.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

RATE, DECAY, STEPS, ENOUGH = 0.5, 0.01, 25, 0.02  # Adam's rate, wd, the most steps, the loss to stop at
BETAS, TINY = (0.9, 0.999), 1e-8  # Adam's own
AT_A_TIME = 1024  # rows


def find_targets(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"], tokens: Int[Tensor, " row"]
) -> Float[Tensor, "row d"]:
    parts = zip(torch.split(x, AT_A_TIME), torch.split(tokens, AT_A_TIME), strict=True)
    return torch.cat([_find_targets(head, epsilon, *part) for part in parts])


def loss(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"], tokens: Int[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """Return the cross entropy of each row's target token."""
    return F.cross_entropy(logits(head, epsilon, x), tokens, reduction="none")


def logits(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"]
) -> Float[Tensor, "row token"]:
    return F.rms_norm(x, x.shape[-1:], None, epsilon) @ head.T


def _find_targets(head: Tensor, epsilon: float, x: Tensor, tokens: Tensor) -> Tensor:
    """Find targets by Adam; finished rows leave."""
    offset, first, second = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    length = x.norm(dim=-1, keepdim=True)
    active = torch.arange(len(x))
    for step in range(1, STEPS + 1):
        t = offset[active].requires_grad_()
        miss = loss(head, epsilon, x[active] + t, tokens[active])
        (gradient,) = torch.autograd.grad((miss + DECAY * (t / length[active]).square().sum(-1)).sum(), t)
        still = miss.detach() >= ENOUGH
        active, gradient = active[still], gradient[still]
        if not len(active):
            break
        first[active] = BETAS[0] * first[active] + (1 - BETAS[0]) * gradient
        second[active] = BETAS[1] * second[active] + (1 - BETAS[1]) * gradient.square()
        mean, spread = first[active] / (1 - BETAS[0] ** step), second[active] / (1 - BETAS[1] ** step)
        next_offset = offset[active] - RATE * mean / (spread.sqrt() + TINY)
        offset[active] = next_offset * (length[active] / next_offset.norm(dim=-1, keepdim=True)).clamp(max=1)
    return offset
