"""The linear map of K-Query's rank: questions and labels of one relation are drawn together, those of others apart.

InfoNCE (van den Oord et al., arXiv:1807.03748) between masked questions and labels, and between questions. The encoder
is frozen, so its vectors are computed once and the map is learned in seconds.
"""

import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.encoder.minilm import WIDTH
from models.kbert.relevance import MENTION, Relevance, spoken
from models.training.kbert.plan import BendPlan
from models.training.kbert.relations import Known

FAR = -1e4  # the logit of what does not count
AMONG_QUESTIONS = 0.3  # weight of the second part of the loss


def learn(
    relevance: Relevance, relations: Sequence[Known], plan: BendPlan, seed: int
) -> Float[Tensor, "width width"]:
    """The map that these relations give. relevance: of the frozen encoder."""
    asked = [(i, text) for i, one in enumerate(relations) for text in questions(one)]
    named = [(i, spoken(label)) for i, one in enumerate(relations) for label in one.labels]
    x, of_x = _vectors(relevance, asked)
    y, of_y = _vectors(relevance, named)
    torch.manual_seed(seed)
    down = nn.Parameter(torch.randn(WIDTH, plan.rank) * 0.02)
    up = nn.Parameter(torch.zeros(plan.rank, WIDTH))
    optimizer = torch.optim.AdamW([down, up], lr=plan.lr, weight_decay=plan.decay)
    for _ in range(plan.steps):
        bent = [_bent(one, down, up, plan.dropout) for one in (x, y)]
        loss = _to_labels(bent[0], of_x, bent[1], of_y, plan.temperature)
        loss = loss + AMONG_QUESTIONS * _to_questions(bent[0], of_x, plan.temperature)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return (down @ up).detach()


def folds(relations: Sequence[Known], count: int, seed: int) -> list[set[str]]:
    """The relations dealt out evenly: fold i is what map i does not see."""
    order = sorted(one.id for one in relations)
    random.Random(f"{seed}/folds").shuffle(order)
    return [set(order[fold::count]) for fold in range(count)]


def questions(relation: Known) -> list[str]:
    return [text.replace("{subject}", MENTION) for text in relation.phrasings]


def _vectors(relevance: Relevance, texts: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
    plain = [relevance.plain([text for _, text in texts[at : at + 64]]) for at in range(0, len(texts), 64)]
    return torch.cat(plain).clone(), torch.tensor([owner for owner, _ in texts])


def _bent(x: Tensor, down: Tensor, up: Tensor, dropout: float) -> Tensor:
    return F.normalize(x + F.dropout(F.dropout(x, dropout) @ down, dropout) @ up, dim=-1)


def _to_labels(
    x: Float[Tensor, "question width"],
    of_x: Int[Tensor, " question"],
    y: Float[Tensor, "label width"],
    of_y: Int[Tensor, " label"],
    temperature: float,
) -> Float[Tensor, ""]:
    """One label of the question's relation, drawn, against those of all others."""
    logits = x @ y.T / temperature
    own = of_x[:, None] == of_y[None]
    drawn = torch.multinomial(own.float(), 1)
    logits = logits.masked_fill(own, FAR).scatter(1, drawn, logits.gather(1, drawn))
    return F.cross_entropy(logits, drawn[:, 0])


def _to_questions(
    x: Float[Tensor, "question width"], of_x: Int[Tensor, " question"], temperature: float
) -> Float[Tensor, ""]:
    itself = torch.eye(len(x), dtype=torch.bool)
    logits = (x @ x.T / temperature).masked_fill(itself, FAR)
    own = (of_x[:, None] == of_x[None]) & ~itself
    return (torch.logsumexp(logits, 1) - torch.logsumexp(logits.masked_fill(~own, FAR), 1)).mean()
