"""The questions of a step, with their candidates."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from models.training.kit.plan import Plan
from models.training.thu_ernie.question import Question, ask_as_people_write
from models.training.thu_ernie.wordings import Wordings
from models.training.thu_ernie.world import Subject, World

STRANGE = ""  # relation that no fact of the pack has
NO_TARGET = -1  # target of a question that no candidate answers


@dataclass(frozen=True)
class Example:
    """A question with its candidates."""

    question: Question  # the text
    mask: Float[Tensor, " size"] | None  # row that the mask carries; None without one
    mention: Float[Tensor, " size"] | None  # row that the mention carries; None for an unlinked one
    groups: tuple[Float[Tensor, "_ size"], ...]  # rows of the objects of each candidate
    target: int  # number of the right candidate, or NOTHING
    # places of all right objects among the rows of the pack; empty if the rows cannot tell
    right: tuple[int, ...]


@dataclass(frozen=True)
class QuestionMaker:
    """Makes questions."""

    world: World  # facts and rows
    wordings: Wordings  # ways to ask
    mixture: Plan  # shares of the kinds of questions

    def draw(self, rng: random.Random) -> Example:
        """Draw a question as training sees it; each relation is equally frequent."""
        relation = rng.choice(list(self.world.objects))
        subject = self._subject(relation, rng)
        draw = rng.random()
        if draw < self.mixture.absent:
            relation = self._lack(subject, relation, rng)
        elif draw < self.mixture.absent + self.mixture.strange:
            relation = STRANGE
        return self._corrupt(self._ask(subject, relation, rng), rng)

    def _subject(self, relation: str, rng: random.Random) -> Subject:
        draw = rng.random()
        if draw < self.mixture.synthetic:
            return self.world.make_up(relation, rng)
        id = rng.choice(self.world.subjects[relation])
        if draw < self.mixture.synthetic + self.mixture.edited_share:
            return self.world.edit(id, rng.choice([relation, *self.world.facts[id]]), rng)
        return self.world.real(id)

    def _lack(self, subject: Subject, relation: str, rng: random.Random) -> str:
        """Return a relation that the type of an entity may have and the entity lacks."""
        relations = self.world.pack.relations
        other_relations = [r for r in relations if r not in subject.facts]
        fitting = [
            r for r in other_relations if relations[r].subject_type == relations[relation].subject_type
        ]
        return rng.choice(fitting or other_relations or [relation])

    def _ask(self, subject: Subject, relation: str, rng: random.Random) -> Example:
        name = self._name(subject, rng)
        is_strange = relation == STRANGE
        template = rng.choice(self.wordings.strange["train"] if is_strange else self.wordings.train[relation])
        question = ask_as_people_write(template, name, self.mixture, rng)
        right = tuple(subject.facts.get(relation, ()))
        groups = [(r == relation, self.world.rows[list(objects)]) for r, objects in subject.facts.items()]
        if right and rng.random() < self.mixture.fallback:
            fallback_rows = (subject.vector + self.world.step(relation))[None]
            groups = [(is_right, fallback_rows if is_right else rows) for is_right, rows in groups]
        groups += [(False, rows) for rows in self._distractors(subject, relation, right, rng)]
        rng.shuffle(groups)
        target = next((place for place, (is_right, _) in enumerate(groups) if is_right), NO_TARGET)
        return Example(
            question, subject.vector, subject.vector, tuple(rows for _, rows in groups), target, right
        )

    def _name(self, subject: Subject, rng: random.Random) -> str:
        entities = self.world.pack.entities
        if subject.name and rng.random() >= self.mixture.other_name:
            return rng.choice(entities[subject.name].names)
        return entities[rng.choice(self._ids)].label

    @property
    def _ids(self) -> Sequence[str]:
        return self.world.triples.names[: len(self.world.pack.entities)]

    def _distractors(
        self, subject: Subject, relation: str, right: Sequence[int], rng: random.Random
    ) -> list[Float[Tensor, "_ size"]]:
        """Return objects of other entities; without a right answer, none of them is of the relation in question."""
        rows = []
        for _ in range(rng.randint(0, self.mixture.most_distractors)):
            other = relation if right and rng.random() < 0.3 else rng.choice(list(self.world.objects))
            place = rng.choice(self.world.objects[other])
            if place not in right and (right or other != relation):
                rows.append(self.world.rows[[place]])
        return rows

    def _corrupt(self, example: Example, rng: random.Random) -> Example:
        draw = rng.random()
        if draw < self.mixture.unlinked_share:
            return replace(example, mention=None)
        draw -= self.mixture.unlinked_share
        if draw < self.mixture.replaced_share:
            other = rng.choice(self._ids)
            return replace(example, mention=self.world.rows[self.world.places[other]])
        draw -= self.mixture.replaced_share
        if draw < self.mixture.rowless and example.target != NO_TARGET:
            return replace(example, mention=None, mask=None, right=())
        return example


def pad_groups(
    examples: Sequence[Example],
) -> tuple[Float[Tensor, "batch candidate object size"], Tensor]:
    """Return the rows of all candidates, and True where there is one [batch candidate object]."""
    n_candidates = max((len(example.groups) for example in examples), default=1)
    largest = max((len(rows) for example in examples for rows in example.groups), default=1)
    size = next((rows.shape[-1] for example in examples for rows in example.groups), 1)
    vectors = torch.zeros(len(examples), max(1, n_candidates), largest, size)
    is_real = torch.zeros(vectors.shape[:3], dtype=torch.bool)
    for number, example in enumerate(examples):
        for place, rows in enumerate(example.groups):
            vectors[number, place, : len(rows)] = rows
            is_real[number, place, : len(rows)] = True
    return vectors, is_real
