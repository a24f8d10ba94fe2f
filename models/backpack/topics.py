"""Topic control: senses that point at a topic weigh more, until the text has spoken of it.

Hewitt et al., arXiv:2305.16765, section 5.2, with the authors' code where the paper is silent:

    score[x, l] = sum over topic words v of (E C(x)_l)_v / max_v (E C(x)_l)_v
    sim[l, s]   = sum over tokens u of relu(C(x_s)_l . E[u]),   a = sigmoid(-k sim + 6) (1 + s / 100)
    C(x_s)_l   <- C(x_s)_l (m a + 1 - a)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.backpack.network import Backpack

QUANTILES = (0.95, 0.80, 0.60)  # quantiles of all scores
MULTIPLIERS = {  # strength -> the multiplier above each quantile, and below all
    0: (1.0, 1.0, 1.0, 1.0),
    1: (1.5, 1.5, 1.3, 1.0),
    2: (2.2, 2.2, 1.5, 1.0),
    3: (3.3, 3.3, 3.0, 1.0),
}
SHIFT, RECENCY, ANNEALING = 6.0, 100.0, 7.5
CHUNK = 256  # tokens whose scores over the vocabulary are computed at once


def score_senses(model: Backpack, topic: Sequence[int]) -> Float[Tensor, "vocab sense"]:
    """Score each sense of each token by how much it points at the words of a topic.

    Args:
        model: The network, of whose senses E C(x) is computed.
        topic: Token ids of the topic's words.

    Returns:
        Scores; 0 for the end of a text, for padding and where no word is predicted with a positive logit.

    Raises:
        ValueError: The topic has no word that the vocabulary knows.
    """
    config = model.config
    words = sorted({id for id in topic if 0 <= id < config.words})
    if not words:
        raise ValueError("the topic has no word that the vocabulary knows: name other words")
    chunks = []
    for start in range(0, config.vocab, CHUNK):
        ids = torch.arange(start, min(start + CHUNK, config.vocab), device=model.embedding.device)
        logits = model.senses_of(ids) @ model.embedding.T
        highest = logits.amax(-1)
        chunks.append(torch.where(highest > 0, logits[..., words].sum(-1) / highest, 0.0))
    scores = torch.cat(chunks)
    scores[config.end] = 0
    scores[config.words :] = 0
    return scores


def multipliers(
    scores: Float[Tensor, "vocab sense"], strength: int, strict: bool = False
) -> Float[Tensor, "vocab sense"]:
    """Return the multiplier of each sense of each token.

    Args:
        scores: From `score_senses`.
        strength: 0 to 3; 0 changes nothing.
        strict: Whether a score that lies on a quantile stays below it, as in the authors' code.

    Raises:
        ValueError: The strength is none of 0 to 3.
    """
    if strength not in MULTIPLIERS:
        raise ValueError(f"strength is {strength!r}: it has to be 0, 1, 2 or 3")
    *above, below = MULTIPLIERS[strength]
    table = torch.full_like(scores, below)
    for quantile, factor in reversed(list(zip(QUANTILES, above, strict=True))):
        limit = torch.quantile(scores.flatten().double(), quantile).to(scores.dtype)
        table[scores > limit if strict else scores >= limit] = factor
    return table


@dataclass(frozen=True)
class TopicControl:
    """Multiplies the senses of every token by a table, less so once the topic has been expressed.

    Attributes:
        table: Multipliers of each sense of each token [vocab sense].
        embedding: E [vocab width].
        annealing: k; 0 applies the table without annealing.
        causal: Whether a token's similarity counts the tokens up to it alone; the authors' code counts later ones too.
    """

    table: Float[Tensor, "vocab sense"]
    embedding: Float[Tensor, "vocab width"]
    annealing: float
    causal: bool = True

    @staticmethod
    def of(model: Backpack, topic: Sequence[int], strength: int) -> "TopicControl":
        """Build the control of a topic."""
        table = multipliers(score_senses(model, topic), strength)
        return TopicControl(table, model.embedding, max(MULTIPLIERS[strength]) / ANNEALING)

    def apply(
        self,
        ids: Int[Tensor, "batch token"],
        senses: Float[Tensor, "batch token sense width"],
        past: Int[Tensor, "batch earlier"],
    ) -> Float[Tensor, "batch token sense width"]:
        """Multiply the senses of tokens."""
        factors = self.table[ids]
        if self.annealing:
            share = self._share(ids, senses, past)
            factors = factors * share + 1 - share
        return senses * factors[..., None]

    def _share(self, ids: Tensor, senses: Tensor, past: Tensor) -> Float[Tensor, "batch token sense"]:
        """Return a: how much of the multiplier is left at each token."""
        every = torch.cat([past, ids], 1)
        agreement = torch.einsum("bsld,bud->bslu", senses, self.embedding[every]).relu()
        places = torch.arange(past.shape[1], every.shape[1], device=ids.device)
        if self.causal:
            agreement = agreement.cumsum(-1)
            place = places[None, :, None, None].expand(*agreement.shape[:3], 1)
            similarity = agreement.gather(-1, place).squeeze(-1)
        else:
            similarity = agreement.sum(-1)
        recency = 1 + places / RECENCY
        return torch.sigmoid(-self.annealing * similarity + SHIFT) * recency[None, :, None]
