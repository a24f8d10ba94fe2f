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


def targets(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"], wanted: Int[Tensor, " row"]
) -> Float[Tensor, "row d"]:
    parts = zip(torch.split(x, AT_A_TIME), torch.split(wanted, AT_A_TIME), strict=True)
    return torch.cat([_targets(head, epsilon, *part) for part in parts])


def loss(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"], wanted: Int[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """Cross entropy of each row's wanted token."""
    return F.cross_entropy(logits(head, epsilon, x), wanted, reduction="none")


def logits(
    head: Float[Tensor, "token d"], epsilon: float, x: Float[Tensor, "row d"]
) -> Float[Tensor, "row token"]:
    return F.rms_norm(x, x.shape[-1:], None, epsilon) @ head.T


def _targets(head: Tensor, epsilon: float, x: Tensor, wanted: Tensor) -> Tensor:
    """Adam, in which rows that are done leave."""
    offset, first, second = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    length = x.norm(dim=-1, keepdim=True)
    going = torch.arange(len(x))
    for step in range(1, STEPS + 1):
        t = offset[going].requires_grad_()
        miss = loss(head, epsilon, x[going] + t, wanted[going])
        (gradient,) = torch.autograd.grad((miss + DECAY * (t / length[going]).square().sum(-1)).sum(), t)
        still = miss.detach() >= ENOUGH
        going, gradient = going[still], gradient[still]
        if not len(going):
            break
        first[going] = BETAS[0] * first[going] + (1 - BETAS[0]) * gradient
        second[going] = BETAS[1] * second[going] + (1 - BETAS[1]) * gradient.square()
        mean, spread = first[going] / (1 - BETAS[0] ** step), second[going] / (1 - BETAS[1] ** step)
        moved = offset[going] - RATE * mean / (spread.sqrt() + TINY)
        offset[going] = moved * (length[going] / moved.norm(dim=-1, keepdim=True)).clamp(max=1)
    return offset
