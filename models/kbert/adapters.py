"""Low-rank adapters, added to the frozen weights once, when a checkpoint is loaded.

Hu et al., LoRA (arXiv:2106.09685): W + scale * B A. They were trained with `peft`; serving needs two matrices a layer
and no library.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from models.checkpoint import CheckpointError

DOWN, UP = ".A", ".B"


@torch.no_grad()
def merged(weights: Mapping[str, Tensor], adapters: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """The weights with every adapter added. adapters: `<module>.A` [rank in] and `<module>.B` [out rank].

    CheckpointError when an adapter fits no weight.
    """
    found = dict(weights)
    for module in sorted({name.removesuffix(DOWN).removesuffix(UP) for name in adapters}):
        name, down, up = f"{module}.weight", adapters.get(module + DOWN), adapters.get(module + UP)
        if down is None or up is None or name not in found:
            raise CheckpointError(f"the adapter of {module} is not whole, or the encoder has no such matrix")
        if found[name].shape != (up.shape[0], down.shape[1]) or up.shape[1] != down.shape[0]:
            raise CheckpointError(f"the adapter of {module} has another shape than its matrix")
        found[name] = found[name] + scale * (up.float() @ down.float())
    return found
