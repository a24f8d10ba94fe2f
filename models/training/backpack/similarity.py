"""Whether words of one kind have senses in common, as far as the pack can tell.

The paper compares senses on lists of word similarity (Hewitt et al., section 4.2). The kinds of entities of the pack
take their place: two languages are more alike than a language and a currency. A measure is the chance that a pair of
one kind has a higher cosine than a pair of two kinds (area under the ROC curve).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.backpack.answering.prompt import Speller
from models.packs.pack import Pack
from models.training.backpack.net import BackpackNet

FEWEST = 4  # fewest words of a kind that is compared


def find_words(pack: Pack, speller: Speller) -> dict[str, list[int]]:
    """Return the names of each kind of entity that are one piece after a space."""
    words: dict[str, list[int]] = defaultdict(list)
    for entity in pack.entities.values():
        tokens = speller.spell(f" {entity.label}")
        if len(tokens) == 1:
            words[entity.type].append(tokens[0])
    return {kind: sorted(set(tokens)) for kind, tokens in sorted(words.items()) if len(set(tokens)) >= FEWEST}


def agreement(vectors: Float[Tensor, "word width"], kinds: Sequence[int]) -> float:
    """Return the chance that a pair of one kind has a higher cosine than a pair of two; 0.5 is chance."""
    unit = F.normalize(vectors.double(), dim=-1)
    rows, columns = torch.triu_indices(len(unit), len(unit), offset=1)
    cosines = (unit[rows] * unit[columns]).sum(-1)
    kind = torch.tensor(kinds)
    is_same = kind[rows] == kind[columns]
    ranks = cosines.argsort(stable=True).argsort(stable=True).double() + 1
    n_same, n_other = int(is_same.sum()), int((~is_same).sum())
    if not n_same or not n_other:
        return 0.5
    return (float(ranks[is_same].sum()) - n_same * (n_same + 1) / 2) / (n_same * n_other)


@torch.inference_mode()
def sense_agreement(net: BackpackNet, words: Mapping[str, Sequence[int]]) -> list[float]:
    """Return the agreement of each sense."""
    tokens, kinds = flatten(words)
    ids = torch.tensor(tokens, dtype=torch.long, device=net.embedding.device)
    senses = net.senses_of(ids).cpu()
    return [agreement(senses[:, sense], kinds) for sense in range(senses.shape[1])]


def flatten(words: Mapping[str, Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the tokens of all kinds, and the number of the kind of each."""
    pairs = [(token, kind) for kind, tokens in enumerate(words.values()) for token in tokens]
    return [token for token, _ in pairs], [kind for _, kind in pairs]
