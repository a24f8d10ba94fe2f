"""The linear map of K-Query's rank: questions and labels of one relation are drawn together, those of others apart.

InfoNCE (van den Oord et al., arXiv:1807.03748) between masked questions and labels, and between questions. The
encoder is frozen, so its vectors are computed once and the map is learned in seconds; on a busy machine this takes
minutes, so the maps are kept in the work folder.

While the pointer is trained, half of the questions are ranked by a map that has not seen their relation. With the
final map alone every relation of the training would be ranked as a trained one, and the pointer would rely on the
rank of a new relation more than that rank deserves.
"""

import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.encoder.minilm import WIDTH
from models.kbert.query import Relevance
from models.kit.batching import Cache
from models.kit.names import MENTION, label_question
from models.training.kit.plan import Plan
from models.training.kit.progress import load_or_compute
from models.training.kit.run import Run
from models.training.texts.relations import RelationText

FILE = "maps.safetensors"
FAR = -1e4  # logit of a pair that does not count
AMONG_QUESTIONS = 0.3  # weight of the second part of the loss
CACHED_TEXTS = 1 << 16


class Ranks:
    """Ranks for training: maps[0] is the final map; maps[1 + i] has not seen the relations of folds[i]."""

    def __init__(self, relevance: Relevance, maps: Sequence[Tensor], folds: Sequence[set[str]]) -> None:
        self._maps = maps
        self._fold = {relation: 1 + number for number, fold in enumerate(folds) for relation in fold}
        self._read, self._cache = relevance.plain, Cache[str, Tensor](CACHED_TEXTS)

    def rank(self, queries: Sequence[tuple[str, Sequence[str], str | None]]) -> list[dict[str, float]]:
        """Rank the labels of each masked question by a map that has not seen its relation (None: the final map)."""
        texts = (text for question, labels, _ in queries for text in (question, *map(label_question, labels)))
        vectors = self._cache.of(texts, self._read)
        ranks: list[dict[str, float]] = []
        for question, labels, held_out in queries:
            bend = self._maps[0 if held_out is None else self._fold[held_out]]
            plain = torch.stack([vectors[question], *(vectors[label_question(label)] for label in labels)])
            units = F.normalize(plain + plain @ bend, dim=-1)
            ranks.append(dict(zip(labels, (units[1:] @ units[0]).tolist(), strict=True)))
        return ranks


def load_or_learn_maps(
    relevance: Relevance, train: Sequence[RelationText], folds: Sequence[set[str]], run: Run, fingerprint: str
) -> list[Tensor]:
    """Load or learn the final map, then one for each fold that has not seen the relations of the fold."""
    parts = [train, *([text for text in train if text.id not in fold] for fold in folds)]

    def learn() -> dict[str, Tensor]:
        run.say(f"maps of the rank: 1 on all {len(train)} relations, {len(folds)} on some")
        maps = (learn_map(relevance, part, run.plan.bend, run.plan.seed) for part in parts)
        return {str(number): tensor for number, tensor in enumerate(maps)}

    tensors = load_or_compute(run.work / FILE, fingerprint, "maps", learn)
    return [tensors[str(number)] for number in range(len(parts))]


def learn_map(
    relevance: Relevance, relations: Sequence[RelationText], plan: Plan, seed: int
) -> Float[Tensor, "width width"]:
    """Learn the map from these relations; `relevance` reads with the frozen encoder."""
    x, of_x = _vectors(
        relevance, [(i, text) for i, relation in enumerate(relations) for text in mask_phrasings(relation)]
    )
    y, of_y = _vectors(
        relevance,
        [(i, label_question(label)) for i, relation in enumerate(relations) for label in relation.labels],
    )
    torch.manual_seed(seed)
    down = nn.Parameter(torch.randn(WIDTH, plan.rank) * 0.02)
    up = nn.Parameter(torch.zeros(plan.rank, WIDTH))
    optimizer = torch.optim.AdamW([down, up], lr=plan.lr, weight_decay=plan.decay)

    def bend(plain: Tensor) -> Tensor:
        narrow = F.dropout(F.dropout(plain, plan.dropout) @ down, plan.dropout)
        return F.normalize(plain + narrow @ up, dim=-1)

    for _ in range(plan.steps):
        bent_x, bent_y = bend(x), bend(y)
        loss = _loss_to_labels(bent_x, of_x, bent_y, of_y, plan.temperature)
        loss = loss + AMONG_QUESTIONS * _loss_to_questions(bent_x, of_x, plan.temperature)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return (down @ up).detach()


def deal_folds(relations: Sequence[RelationText], count: int, seed: int) -> list[set[str]]:
    """Deal the relations out evenly: map i does not see fold i."""
    order = sorted(relation.id for relation in relations)
    random.Random(f"{seed}/folds").shuffle(order)
    return [set(order[fold::count]) for fold in range(count)]


def mask_phrasings(relation: RelationText) -> list[str]:
    return [text.replace("{subject}", MENTION) for text in relation.phrasings]


def _vectors(relevance: Relevance, texts: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
    plain = [relevance.plain([text for _, text in texts[at : at + 64]]) for at in range(0, len(texts), 64)]
    return torch.cat(plain).clone(), torch.tensor([owner for owner, _ in texts])


def _loss_to_labels(
    x: Float[Tensor, "question width"],
    of_x: Int[Tensor, " question"],
    y: Float[Tensor, "label width"],
    of_y: Int[Tensor, " label"],
    temperature: float,
) -> Float[Tensor, ""]:
    """Compute the loss of a drawn label of the question's relation against those of all others."""
    logits = x @ y.T / temperature
    is_right = of_x[:, None] == of_y[None]
    target = torch.multinomial(is_right.float(), 1)
    logits = logits.masked_fill(is_right, FAR).scatter(1, target, logits.gather(1, target))
    return F.cross_entropy(logits, target[:, 0])


def _loss_to_questions(
    x: Float[Tensor, "question width"], of_x: Int[Tensor, " question"], temperature: float
) -> Float[Tensor, ""]:
    itself = torch.eye(len(x), dtype=torch.bool)
    logits = (x @ x.T / temperature).masked_fill(itself, FAR)
    is_right = (of_x[:, None] == of_x[None]) & ~itself
    return (torch.logsumexp(logits, 1) - torch.logsumexp(logits.masked_fill(~is_right, FAR), 1)).mean()
