"""What each phrasing of each relation asks for, as gates read it: by this a question of no known kind is told."""

import random
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.packs.pack import Relation
from models.scope.network import ASPECT, Scope
from models.training.packs.names import Name

NAMES = 6  # over which a phrasing's reading is averaged


@torch.inference_mode()
def kinds(
    scope: Scope, encoder: MiniLM, relations: Mapping[str, Relation], names: Sequence[Name], seed: int
) -> Float[Tensor, "kind aspect"]:
    """One unit row for each trained phrasing."""
    rng = random.Random(seed)
    readings = []
    for relation in relations.values():
        for phrasing in relation.phrasings:
            encoded = encoder.encode(
                [phrasing.replace("{subject}", name.name) for name in rng.sample(names, NAMES)]
            )
            keys = scope.key(encoded.states, encoded.ids, encoded.mask)
            readings.append(F.normalize(keys[:, ASPECT : 2 * ASPECT].mean(0), dim=0))
    return torch.stack(readings)
