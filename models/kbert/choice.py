"""Which entity a name means in a question, and which of its facts are hung on it.

A name may be that of several entities; the one whose relations fit the question best is meant, then the one the graph
says most of, then the first id. Of its relations the best by rank are read, one value each: the other values of a
relation share its name and so its rank, and are answered together with the one that was read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.graph import Fact as Branch
from models.kbert.triples import Triple

ABSENT = -1.0  # the fit of an entity without facts: the lowest cosine

Ranks = Mapping[str, float]  # label -> rank


@dataclass(frozen=True, eq=False)
class Hung:
    """One relation of an entity, as a fact of the sentence tree. values: all that the graph says, sorted by object."""

    entity: Entity
    values: tuple[Fact, ...]
    rank: float
    branch: Branch

    @property
    def label(self) -> str:
        return self.values[0].label

    @property
    def answer(self) -> str:
        """All objects, as a pack joins them."""
        return ", ".join(sorted({fact.object for fact in self.values}))


@dataclass(frozen=True)
class LeftOut:
    """reason: `empty` (no label or no object), `rank` (others fit better), `value` (of a relation that is read),
    `mentions` (more words have facts than are read), `room` (the text is too long)."""

    entity: Entity
    fact: Fact
    reason: str


@dataclass(frozen=True)
class Other:
    """An entity that the name could mean, too."""

    entity: Entity
    fit: float


@dataclass(frozen=True)
class Chosen:
    """A mention with the entity it is taken for. others: the rest, best first. fit: the best rank of its facts."""

    start: int
    end: int
    entity: Entity
    fit: float
    hung: tuple[Hung, ...]
    others: tuple[Other, ...]
    left_out: tuple[LeftOut, ...]


def choose(mentions: Sequence[Mention], ranks: Sequence[Ranks], most: int, words: int) -> list[Chosen]:
    """K-Query, in the order of the text. ranks[i]: of the labels at mentions[i]. most: relations hung on one mention.

    words: mentions that facts are hung on, the best fitting first. Of mentions that overlap the longest is read.
    """
    pairs = [pair for pair in zip(mentions, ranks, strict=True) if pair[0].entities]
    found = [_chosen(mention, known, most) for mention, known in _apart(pairs)]
    with_facts = sorted((one for one in found if one.hung), key=lambda one: (-one.fit, one.start))
    kept = {one.start for one in with_facts[:words]}
    return [one if one.start in kept or not one.hung else _bare(one) for one in found]


def labels(mention: Mention) -> list[str]:
    """What has to be ranked at a mention, each once."""
    return list(dict.fromkeys(f.label for entity in mention.entities for f in entity.facts if not _empty(f)))


def _apart(pairs: Sequence[tuple[Mention, Ranks]]) -> list[tuple[Mention, Ranks]]:
    kept: list[tuple[Mention, Ranks]] = []
    for pair in sorted(pairs, key=lambda pair: (pair[0].start - pair[0].end, pair[0].start)):
        if all(pair[0].end <= other.start or other.end <= pair[0].start for other, _ in kept):
            kept.append(pair)
    return sorted(kept, key=lambda pair: pair[0].start)


def _chosen(mention: Mention, ranks: Ranks, most: int) -> Chosen:
    fits = {entity.id: _fit(entity, ranks) for entity in mention.entities}
    best, *rest = sorted(mention.entities, key=lambda e: (-fits[e.id], -e.degree, e.id))
    hung, left_out = _hung(best, ranks, most)
    others = tuple(Other(entity, fits[entity.id]) for entity in rest)
    return Chosen(mention.start, mention.end, best, fits[best.id], hung, others, left_out)


def _fit(entity: Entity, ranks: Ranks) -> float:
    return max((ranks[fact.label] for fact in entity.facts if not _empty(fact)), default=ABSENT)


def _hung(entity: Entity, ranks: Ranks, most: int) -> tuple[tuple[Hung, ...], tuple[LeftOut, ...]]:
    by_relation: dict[str, list[Fact]] = {}
    for fact in entity.facts:
        if not _empty(fact):
            by_relation.setdefault(fact.relation, []).append(fact)
    groups = sorted(by_relation.values(), key=lambda group: -ranks[group[0].label])
    ordered = [tuple(sorted(group, key=lambda fact: fact.object)) for group in groups]
    hung = tuple(
        Hung(entity, group, ranks[group[0].label], _branch(entity, group[0])) for group in ordered[:most]
    )
    left_out = [LeftOut(entity, fact, "empty") for fact in entity.facts if _empty(fact)]
    left_out += [LeftOut(entity, fact, "value") for group in ordered[:most] for fact in group[1:]]
    left_out += [LeftOut(entity, fact, "rank") for group in ordered[most:] for fact in group]
    return hung, tuple(left_out)


def _branch(entity: Entity, fact: Fact) -> Branch:
    return Branch(f"{fact.label} {fact.object}", Triple(entity.label, fact.label, fact.object))


def _bare(one: Chosen) -> Chosen:
    lost = tuple(LeftOut(one.entity, hung.values[0], "mentions") for hung in one.hung)
    return Chosen(one.start, one.end, one.entity, one.fit, (), one.others, one.left_out + lost)


def _empty(fact: Fact) -> bool:
    return not fact.label.strip() or not fact.object.strip()
