"""The training of the subjects' reading: it draws phrasings of one question together and others apart."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.training.nkb.questions import TrainingQuestion
from models.training.nkb.states import States
from models.training.nkb.subject_net import SubjectNet

TEMPERATURE = 0.07
SEEDS, MATES = 48, 3  # facts of a batch, and siblings and look-alikes of each
ALIKE = 8  # nearest subjects that count as look-alikes
CHUNK = 512


@dataclass(frozen=True)
class Facts:
    """The facts of the sampler: their rows of text, and siblings (same subject)."""

    rows: dict[int, list[int]]
    subject: dict[int, str]
    relation: dict[int, str]
    siblings: dict[str, list[int]]


def gather(questions: Sequence[TrainingQuestion]) -> Facts:
    """Gather facts by the row of their first question."""
    first: dict[tuple[str, str], int] = {}
    rows: dict[int, list[int]] = defaultdict(list)
    siblings: dict[str, list[int]] = defaultdict(list)
    for row, question in enumerate(questions):
        fact = first.setdefault((question.subject, question.relation), row)
        rows[fact].append(row)
        if fact == row:
            siblings[question.subject].append(fact)
    subject = {fact: name for (name, _), fact in first.items()}
    relation = {fact: name for (_, name), fact in first.items()}
    return Facts(dict(rows), subject, relation, dict(siblings))


@torch.no_grad()
def look_alikes(net: SubjectNet, facts: Facts, states: States) -> dict[int, list[int]]:
    """Find the facts of each fact's relation whose subjects the net finds nearest, the hardest ones to distinguish."""
    order = list(facts.rows)
    rows = [facts.rows[index][0] for index in order]
    keys = torch.cat([states.key(net, rows[s : s + CHUNK]) for s in range(0, len(rows), CHUNK)])
    by_relation: dict[str, list[int]] = defaultdict(list)
    for place, index in enumerate(order):
        by_relation[facts.relation[index]].append(place)
    alike: dict[int, list[int]] = {}
    for members in by_relation.values():
        near = (
            (keys[members] @ keys[members].T).topk(min(ALIKE + 1, len(members)), -1).indices[:, 1:].tolist()
        )
        alike.update({order[m]: [order[members[n]] for n in ns] for m, ns in zip(members, near, strict=True)})
    return alike


def batch(facts: Facts, alike: dict[int, list[int]], seeds: Sequence[int], rng: random.Random) -> list[int]:
    """Join seeds with their siblings (same subject, another relation) and look-alikes (same relation)."""
    indices = dict.fromkeys(seeds)
    for seed in seeds:
        mates = [i for i in facts.siblings[facts.subject[seed]] if i != seed]
        indices.update(dict.fromkeys(rng.sample(mates, min(MATES, len(mates)))))
        indices.update(dict.fromkeys(rng.sample(alike[seed], min(MATES, len(alike[seed])))))
    return list(indices)


def train(
    facts: Facts, states: States, epochs: int, lr: float, seed: int, say: Callable[[str], None]
) -> SubjectNet:
    """Train a net that distinguishes the facts; seed and thread count determine it."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    net = SubjectNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=0.01)
    order = list(facts.rows)
    steps = epochs * (len(order) // SEEDS)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps)
    for epoch in range(epochs):
        rng.shuffle(order)
        alike, losses = look_alikes(net, facts, states), []
        for start in range(0, len(order) - SEEDS + 1, SEEDS):
            loss = _loss(net, facts, states, batch(facts, alike, order[start : start + SEEDS], rng), rng)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        say(f"subjects epoch {epoch + 1}/{epochs} loss {sum(losses) / len(losses):.4f}")
    return net.eval().requires_grad_(False)


def _loss(
    net: SubjectNet, facts: Facts, states: States, indices: Sequence[int], rng: random.Random
) -> Tensor:
    """Return the loss; each kind of pair has the same weight, for rare pairs (same subject) matter most."""
    pairs = [rng.sample(facts.rows[index], 2) for index in indices]
    keys = states.key(net, [row for pair in pairs for row in pair])
    question_keys, edit_keys = keys[0::2], keys[1::2]
    cosines = net.cosines(question_keys, edit_keys)
    same = torch.eye(len(indices), dtype=torch.bool)
    subject = _equal([facts.subject[i] for i in indices])
    relation = _equal([facts.relation[i] for i in indices])
    gate = F.binary_cross_entropy_with_logits(net.logit(cosines), same.float(), reduction="none")
    kinds = (same, subject & ~same, relation & ~same, ~(subject | relation))
    balanced_loss = torch.stack([gate[kind].mean() for kind in kinds if kind.any()]).sum()
    hardest = gate.masked_fill(same, 0.0).amax(-1).mean()
    return (
        balanced_loss
        + hardest
        + 0.1 * (_contrast(cosines[..., 0], subject) + _contrast(cosines[..., 1], relation))
    )


def _equal(names: Sequence[str]) -> Tensor:
    codes = torch.tensor([{n: i for i, n in enumerate(sorted(set(names)))}[name] for name in names])
    return codes[:, None] == codes[None, :]


def _contrast(cosine: Tensor, together: Tensor) -> Tensor:
    """Compute the supervised contrastive loss (Khosla et al., arXiv:2004.11362, eq. 2) of one aspect."""
    logprob = (cosine / TEMPERATURE).log_softmax(-1)
    return -((logprob * together).sum(-1) / together.sum(-1)).mean()
