"""Questions with a small graph around them, made from a seed, and the path that answers each or breaks.

Names and values mean nothing to the reader, for names are masked and nodes have no vectors; so entities are numbers
here. An example teaches how words and labels of relations go together, hop by hop.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from models.graph.knowledge import Entity, Fact
from models.relational.network import FORMS
from models.relational.subgraph import inverse_label
from models.system import Ask
from models.training.kit.plan import Plan
from models.training.relational.compositions import Compositions, Path, base_id, has_entities, is_inverse
from models.training.relational.wordings import COUNT, YES_NO, Wordings
from models.training.texts.inventions import invent
from models.training.texts.phrasings import SLOT, fill
from models.training.texts.relations import RelationText, fits

OBJECT = "{object}"
MOST_VALUES = 3  # values of one fact


# A visit of a node: the labels that leave it, and the right one, "@null" or "@stay".
Visit: TypeAlias = tuple[Sequence[str], str]


@dataclass(frozen=True)
class Example:
    """A question with its answer and its proof."""

    ask: Ask  # the question with its mentions
    entities: Mapping[str, Entity]  # the graph
    path: tuple[str, ...]  # ids of the relations that the question asks for
    labels: tuple[str, ...]  # labels to walk
    start: int  # number of the mention at which the path begins
    form: str  # one of FORMS
    expected: str | None  # the answer; None if the path breaks
    hops: tuple[tuple[Visit, ...], ...]  # visits of each hop of the walk


@dataclass(frozen=True)
class ExampleMaker:
    """Makes examples."""

    compositions: Compositions  # paths that may be asked for
    wordings: Wordings  # wordings of the questions
    mixture: Plan  # shares of the kinds of questions
    # Relations that stand beside the path: for each id those easily taken for it, the nearest first
    beside: Mapping[str, RelationText]
    near: Mapping[str, Sequence[str]]
    max_hops: int  # hops after which a walk ends by itself
    walks_back: bool = False  # whether a walk may lead from an object to its subjects

    def draw(self, rng: random.Random) -> Example:
        """Draw an example as training sees it."""
        n_hops = rng.choices((1, 2, 3), self.mixture.hops)[0]
        return self.make(self.compositions.draw(n_hops, False, rng), rng)

    def make(self, path: Path, rng: random.Random, is_broken: bool | None = None) -> Example:
        """Make an example about a path; whether a fact of it is missing is left to the mixture by default."""
        if is_broken is None:
            is_broken = rng.random() < self.mixture.broken
        form = rng.choices(
            FORMS,
            (1 - self.mixture.count - self.mixture.yes_no, self.mixture.count, self.mixture.yes_no),
        )[0]
        breaks_at = rng.randrange(len(path)) if is_broken else None
        drawing = _Drawing(self, path, rng, breaks_at)
        root = drawing.grow(0, path[0].subject)
        return self._ask(path, form, drawing, root, rng)

    def _ask(self, path: Path, form: str, drawing: "_Drawing", root: str, rng: random.Random) -> Example:
        ends = sorted(set(drawing.ends))
        expected: str | None = ", ".join(sorted(label for _, label in ends))
        text, object = self.wordings.draw(path, form, rng), None
        if form == COUNT:
            expected = str(len(ends))
        elif form == YES_NO:
            object, expected = self._name_object(path[-1], ends, drawing, rng)
        names, start = {SLOT: drawing.entities[root]}, 0
        if object is not None:
            names[OBJECT] = drawing.entities.get(object[0]) or Entity(*object)
            start = int(bool(object[0]) and text.index(OBJECT) < text.index(SLOT))
        return Example(
            fill(text, names),
            drawing.entities,
            tuple(relation.id for relation in path),
            tuple(drawing.label(relation) for relation in path),
            start,
            form,
            expected if drawing.breaks_at is None else None,
            drawing.visits(),
        )

    def _name_object(
        self, relation: RelationText, ends: Sequence[tuple[str, str]], drawing: "_Drawing", rng: random.Random
    ) -> tuple[tuple[str, str], str]:
        """Return an object to ask about, by id and label, and whether the answer to that question is yes."""
        if ends and rng.random() < 0.5:
            return rng.choice(ends), "yes"
        return drawing.new_object(relation), "no"


@dataclass
class _Drawing:
    """A graph that grows along a path."""

    maker: ExampleMaker  # the maker, with mixture and relations
    path: Path  # the right path
    rng: random.Random  # source of all choices
    breaks_at: int | None  # hop whose fact is missing; None if none is
    entities: dict[str, Entity] = field(default_factory=dict)
    # Entities at which the walk stands at each hop, "" for a text, with the label to walk
    hops: list[list[tuple[str, str]]] = field(default_factory=lambda: [[], [], [], []])
    ends: list[tuple[str, str]] = field(default_factory=list)  # ids and labels of the right answers
    _labels: dict[str, str] = field(default_factory=dict)
    _n_objects: int = 0

    def label(self, relation: RelationText) -> str:
        """Return the label of the relation in this example, in the direction in which it is walked."""
        label = self.base_label(relation)
        return inverse_label(label) if is_inverse(relation.id) else label

    def base_label(self, relation: RelationText) -> str:
        """Return the label of the relation's facts in this example."""
        id = base_id(relation.id)
        if id not in self._labels:
            labels = (self.maker.beside[id] if is_inverse(relation.id) else relation).labels
            other_labels = labels[1:]
            is_other = other_labels and self.rng.random() < self.maker.mixture.other_label
            self._labels[id] = self.rng.choice(other_labels) if is_other else labels[0]
        return self._labels[id]

    def visits(self) -> tuple[tuple[Visit, ...], ...]:
        """Return the visits of each hop, once the graph is complete."""
        labels_in: dict[str, list[str]] = defaultdict(list)
        for entity in self.entities.values() if self.maker.walks_back else ():
            for fact in entity.facts:
                labels_in[fact.object_id].append(inverse_label(fact.label))

        def labels(id: str) -> tuple[str, ...]:
            facts = self.entities[id].facts if id else ()
            return tuple(dict.fromkeys((*(fact.label for fact in facts), *(labels_in[id] if id else ()))))

        return tuple(tuple((labels(id), target) for id, target in hop) for hop in self.hops if hop)

    def new_object(self, relation: RelationText) -> tuple[str, str]:
        """Return id and label of an object that the relation could have; the id is "" for a text or a number."""
        self._n_objects += 1
        if has_entities(relation):
            return f"n{self._n_objects}", f"N{self._n_objects}"
        return "", f"{invent(relation.object, self.rng) or relation.object} {self._n_objects}"

    def grow(self, hop: int, type: str, id: str = "n0", facts_before: Sequence[Fact] = ()) -> str:
        """Add an entity on the right path, which `hop` leaves, and the entities that follow.

        It has `facts_before` if the walk came from their object.
        """
        is_last = hop == len(self.path)
        facts = [*facts_before, *self._facts_beside(hop, type, id)]
        target = "@stay" if is_last else "@null" if hop == self.breaks_at else self.label(self.path[hop])
        if not is_last and hop != self.breaks_at:
            facts += self._right_facts(hop, id)
        self.rng.shuffle(facts)
        self.entities[id] = Entity(id, id.upper(), facts=tuple(facts))
        if hop < self.maker.max_hops:
            self.hops[hop].append((id, target))
        return id

    def _right_facts(self, hop: int, source: str) -> list[Fact]:
        """Add the entities to which the right relation leads, and return the facts of `source` itself."""
        relation = self.path[hop]
        facts, is_multiple = [], self.rng.random() < self.maker.mixture.multiple
        for _ in range(self.rng.randint(2, MOST_VALUES) if is_multiple else 1):
            id, label = self.new_object(relation)
            if hop + 1 == len(self.path):
                self.ends.append((id, label))
            if is_inverse(relation.id):
                self.grow(hop + 1, relation.object, id, [self._fact_about(relation, source)])
                continue
            facts.append(Fact(relation.id, self.label(relation), label, id))
            if id:
                self.grow(hop + 1, relation.object, id)
            elif hop + 1 < self.maker.max_hops:
                self.hops[hop + 1].append(("", "@stay"))  # the walk ends at a text, which has no facts
        return facts

    def _fact_about(self, relation: RelationText, object: str) -> Fact:
        """Return a fact of the subject that an inverse relation leads to."""
        return Fact(base_id(relation.id), self.base_label(relation), object.upper(), object)

    def _facts_beside(self, hop: int, type: str, source: str) -> list[Fact]:
        """Return facts of other relations; at the end of the path these tempt a walk to go too far.

        Subjects that inverse relations lead to become entities, for the facts are theirs.
        """
        right = self.path[hop] if hop < len(self.path) else self.path[-1]
        avoid = {right.id} if hop < len(self.path) else set()
        labels = {self.label(right)} if avoid else set()
        facts: list[Fact] = []
        for relation in self._relations_beside(right, type):
            label = self.label(relation)
            if relation.id not in avoid and label not in labels:
                avoid.add(relation.id)
                labels.add(label)
                id, text = self.new_object(relation)
                if is_inverse(relation.id):
                    self.entities[id] = Entity(id, text, facts=(self._fact_about(relation, source),))
                else:
                    facts.append(Fact(relation.id, label, text, id))
        return facts

    def _relations_beside(self, right: RelationText, type: str) -> list[RelationText]:
        """Draw relations that fit the type, those near the right relation more often."""
        maker, rng = self.maker, self.rng
        count = rng.randint(1, maker.mixture.most_facts)
        near = [maker.beside[id] for id in maker.near.get(right.id, ()) if id in maker.beside]
        near = [relation for relation in near if fits(relation, type)][:8]
        fitting = [relation for relation in maker.beside.values() if fits(relation, type)]
        every = fitting or list(maker.beside.values())
        return [
            rng.choice(near) if near and rng.random() < maker.mixture.near else rng.choice(every)
            for _ in range(count)
        ]
