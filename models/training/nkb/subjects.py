"""The reading of a question's subject, which draws phrasings about one subject together and others apart.

It learns from questions about facts that the base learned, and about names that the pack does not hold. A name is asked
for the relation that it really has, for another of its kind, and for two that no name was drawn for. The answers do not
matter, only which questions are about the same. Some questions stand in a frame, as people write.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from more_itertools import chunked
from torch import Tensor, nn

from models.encoder.minilm import WIDTH
from models.nkb.reader import Subjects
from models.packs.pack import Item, Relation
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Epochs
from models.training.nkb.states import States
from models.training.packs.names import Name

ASPECT = 128  # width of the reading
TEMPERATURE = 0.07
SEEDS, MATES = 48, 3  # facts of a batch, and siblings and look-alikes of each
ALIKE = 8  # nearest subjects that count as look-alikes
CHUNK = 512
AS_PEOPLE_WRITE = (
    "Please: {question}",
    "Hi! {question}",
    "Quick question: {question}",
    "Do you know this: {question}",
    "Hello, {question}",
    "So, {question}",
    "{question} Thanks!",
    "{question} Answer briefly.",
)
FRAMED_SHARE = 0.12  # share of the questions that stand in a frame


@dataclass(frozen=True)
class SubjectQuestion:
    """One question with the subject and the relation that it asks for."""

    text: str
    subject: str
    relation: str


def write_questions(
    relations: Mapping[str, Relation], items: Sequence[Item], names: Sequence[Name], count: int, seed: int
) -> list[SubjectQuestion]:
    """Write `count` trained phrasings of each subject and relation, which stand together."""
    rng = random.Random(seed)
    base_facts = ((item.subject.label, item.relation.id) for item in items)
    facts = sorted({*base_facts, *_facts(relations, names, rng)})
    return [
        SubjectQuestion(_text(template, subject, rng), subject, relation)
        for subject, relation in facts
        for template in rng.sample(relations[relation].phrasings, count)
    ]


def _facts(
    relations: Mapping[str, Relation], names: Sequence[Name], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield subject and relation, three or four for each name."""
    drawn_relations = {name.relation_id for name in names}
    kinds: dict[str, list[str]] = defaultdict(list)
    rest: dict[str, list[str]] = defaultdict(list)
    for relation in relations.values():
        kinds[relation.subject_type].append(relation.id)
        if relation.id not in drawn_relations:
            rest[relation.subject_type].append(relation.id)
    for name in names:
        yield name.name, name.relation_id
        yield name.name, rng.choice(kinds[relations[name.relation_id].subject_type])
        if rest:
            ids = rest[rng.choice(sorted(rest))]
            yield from ((name.name, id) for id in rng.sample(ids, min(2, len(ids))))


def _text(template: str, subject: str, rng: random.Random) -> str:
    question = template.replace("{subject}", subject)
    frame = rng.choice(AS_PEOPLE_WRITE) if rng.random() < FRAMED_SHARE else "{question}"
    return frame.replace("{question}", question)


class SubjectNet(nn.Module):
    """The two matrices of `Subjects`, in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Parameter(nn.Linear(WIDTH, 1).weight.detach())
        self.read = nn.Parameter(nn.Linear(WIDTH, ASPECT).weight.detach())

    def forward(
        self, states: Float[Tensor, "batch token width"], mask: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch aspect"]:
        """Return unit readings of questions."""
        return Subjects(self.attend, self.read, self.read.T[:0]).key(states, mask)


class Learning(Epochs):
    """Trains the net on questions that `write_questions` wrote; each batch has subjects that are hard to tell apart."""

    def __init__(
        self, plan: Plan, questions: Sequence[SubjectQuestion], states: States, seed: int, say: Say
    ) -> None:
        torch.manual_seed(seed)
        self.net, self._states, self._count = SubjectNet(), states, plan.phrasings
        self._facts = questions[:: plan.phrasings]
        self._siblings: dict[str, list[int]] = defaultdict(list)
        self._by_relation: dict[str, list[int]] = defaultdict(list)
        for number, fact in enumerate(self._facts):
            self._siblings[fact.subject].append(number)
            self._by_relation[fact.relation].append(number)
        groups = [{"params": list(self.net.parameters()), "peak": plan.lr}]
        per_epoch = max(1, len(self._facts) // SEEDS)
        super().__init__(plan.change(seed=seed), per_epoch, self.net, groups, say, weight_decay=0.01)

    def draw(self, epoch: int) -> list[list[int]]:
        """Join seeds with their siblings (same subject, another relation) and look-alikes (same relation)."""
        rng, alike = random.Random(f"{self.schedule.seed}/{epoch}"), self._look_alikes()
        order = rng.sample(range(len(self._facts)), len(self._facts))
        batches = []
        for start in range(0, self.per_epoch * SEEDS, SEEDS):
            seeds = order[start : start + SEEDS]
            facts = dict.fromkeys(seeds)
            for seed in seeds:
                siblings = [fact for fact in self._siblings[self._facts[seed].subject] if fact != seed]
                for mates in (siblings, alike[seed]):
                    facts |= dict.fromkeys(rng.sample(mates, min(MATES, len(mates))))
            batches.append([row for fact in facts for row in rng.sample(self._rows(fact), 2)])
        return batches

    def loss_of(self, batch: list[int]) -> Tensor:
        """Return the supervised contrastive loss (Khosla et al., arXiv:2004.11362, eq. 2) of pairs of phrasings."""
        keys = self.net(*self._states.batch(batch))
        subjects = [self._facts[row // self._count].subject for row in batch[::2]]
        same = torch.tensor([[subject == other for other in subjects] for subject in subjects])
        logprob = (keys[0::2] @ keys[1::2].T / TEMPERATURE).log_softmax(-1)
        loss: Tensor = -((logprob * same).sum(-1) / same.sum(-1)).mean()
        return loss

    @torch.no_grad()
    def _look_alikes(self) -> dict[int, list[int]]:
        """Find for each fact those of its relation whose subjects the net finds nearest, the hardest to distinguish."""
        rows = [self._rows(fact)[0] for fact in range(len(self._facts))]
        keys = torch.cat([self.net(*self._states.batch(part)) for part in chunked(rows, CHUNK)])
        alike: dict[int, list[int]] = {}
        for facts in self._by_relation.values():
            near = (keys[facts] @ keys[facts].T).topk(min(ALIKE + 1, len(facts)), -1).indices[:, 1:].tolist()
            alike |= {fact: [facts[n] for n in row] for fact, row in zip(facts, near, strict=True)}
        return alike

    def _rows(self, fact: int) -> range:
        return range(fact * self._count, (fact + 1) * self._count)
