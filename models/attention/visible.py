"""Which tokens of a K-BERT sentence tree may attend to which.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Seeing layer". A fact hangs from one word of the
sentence. Its tokens see each other and that word and nothing else, so an injected fact cannot bend the meaning
of the rest of the sentence.
"""

from jaxtyping import Bool, Int
from torch import Tensor

TRUNK = 0  # the branch of the sentence itself; facts are branches 1, 2, ...


def visible(
    branch: Int[Tensor, "*batch token"], anchor: Int[Tensor, "*batch token"]
) -> Bool[Tensor, "*batch query key"]:
    """Return True where `query` may attend to `key`. Symmetric, and every token sees itself.

    branch: TRUNK for a word of the sentence, otherwise the number of its fact.
    anchor: which word of the sentence the token belongs to, or hangs from.
    """
    query, key = branch[..., :, None], branch[..., None, :]
    same_branch = query == key
    same_word = anchor[..., :, None] == anchor[..., None, :]
    one_on_trunk = (query == TRUNK) | (key == TRUNK)
    return same_branch | (same_word & one_on_trunk)
