"""The relations that may follow each other on a path, and the sequences of them that training never sees.

A relation that is walked from object to subject is a separate relation with the types exchanged, so compositions,
graphs and losses treat it like any other.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from models.relational.subgraph import inverse_label
from models.training.texts.relations import ANY, KINDS, RelationText

ENTITY_TYPES = frozenset({"person", "organization", "place", "country", "work", "product", *KINDS})

INVERSE = "~"  # prefix of the id of a relation that leads from objects to subjects
MAX_DRAWS = 10_000  # random sequences that are drawn until one fits

Path = tuple[RelationText, ...]


@dataclass(frozen=True)
class Compositions:
    """Paths of relations."""

    relations: Mapping[str, RelationText]  # relations by id
    one_in: int  # number of sequences of which one is held out
    seed: int  # seed by which they are chosen
    inverse: float = 0.0  # probability that a hop is of an inverse relation, if one fits

    @cached_property
    def followers(self) -> Mapping[str, Sequence[str]]:
        """Return the relations that the objects of each relation may have; some relations have none."""
        return {
            id: [other for other, text in self.relations.items() if follows(relation, text)]
            for id, relation in self.relations.items()
        }

    def draw(self, n_hops: int, is_held: bool, rng: random.Random) -> Path:
        """Draw a path that training never sees, or one that it may; a single relation is no composition.

        Raises:
            ValueError: The relations make no such path.
        """
        for _ in range(MAX_DRAWS):
            ids = [self._choose(list(self.relations), rng)]
            while len(ids) < n_hops and self.followers[ids[-1]]:
                ids.append(self._choose(self.followers[ids[-1]], rng))
            if len(ids) == n_hops and (n_hops == 1 or self.is_held(ids) == is_held):
                return tuple(self.relations[id] for id in ids)
        kind = "held out" if is_held else "trained"
        raise ValueError(
            f"{len(self.relations)} relations make no {kind} path of {n_hops} hops: give more relations"
        )

    def _choose(self, ids: Sequence[str], rng: random.Random) -> str:
        """Choose the direction first, so that its share does not depend on how many relations have an inverse."""
        inverse = [id for id in ids if is_inverse(id)]
        forward = [id for id in ids if not is_inverse(id)]
        if not inverse or not forward:
            return rng.choice(ids)
        return rng.choice(inverse if rng.random() < self.inverse else forward)

    def is_held(self, ids: Sequence[str]) -> bool:
        """Return whether a sequence, or two neighbours in it, are held out."""
        parts = [tuple(ids), *pairwise(ids)] if len(ids) > 1 else []
        return any(self._is_chosen(part) for part in parts)

    def _is_chosen(self, ids: Sequence[str]) -> bool:
        digest = hashlib.sha256(f"{self.seed}/{'>'.join(ids)}".encode()).digest()
        return int.from_bytes(digest[:4], "big") % self.one_in == 0


def follows(first: RelationText, second: RelationText) -> bool:
    """Return whether objects of the first relation are entities that may be subjects of the second."""
    if base_id(first.id) == base_id(second.id) and is_inverse(first.id) != is_inverse(second.id):
        return False  # the path would return to its previous entity
    type = first.object
    return type in ENTITY_TYPES and second.subject in (type, *KINDS.get(type, ()), ANY)


def is_inverse(id: str) -> bool:
    """Return whether a relation leads from objects to subjects."""
    return id.startswith(INVERSE)


def base_id(id: str) -> str:
    """Return the id of the relation that the facts have."""
    return id.removeprefix(INVERSE)


def has_entities(relation: RelationText) -> bool:
    """Return whether the objects of a relation are entities, with facts about them."""
    return is_inverse(relation.id) or relation.object in ENTITY_TYPES or relation.object == ANY


def with_inverses(relations: Mapping[str, RelationText]) -> dict[str, RelationText]:
    """Return relations and the inverse ones of those whose objects are entities."""
    return {**relations, **{INVERSE + id: _invert(r) for id, r in relations.items() if has_entities(r)}}


def _invert(relation: RelationText) -> RelationText:
    """Return the relation that leads from the objects of a relation to its subjects."""
    labels, id = tuple(map(inverse_label, relation.labels)), INVERSE + relation.id
    return RelationText(id, labels, relation.object, relation.subject, (), is_practice=relation.is_practice)
