"""K-Query: the entity that a name means in a question, and those of its facts that are hung on it.

Liu et al., K-BERT (arXiv:1909.07606), section "Knowledge layer", takes a word's facts as the graph lists them; an
entity of a wide graph has more than a sentence has room for. Here the relations of an entity are ranked by how well
their names fit the question: the frozen MiniLM reads the question, with X in the place of the mention, and "What is
the <label>?", one linear map transforms both, and the rank is their cosine. A relation that was not in the training
is ranked by the words of its label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.kit.batching import Cache
from models.kit.names import MENTION, keep_longest, label_question
from models.kit.replies import fact_json

CACHED_TEXTS = 16384
TEXTS_PER_PASS = 64
NO_FIT = -1.0  # the lowest cosine, for an entity without facts

Ranks = Mapping[str, float]
"""Label of a relation -> rank, a cosine."""


class Relevance:
    """Ranks relations by their labels. Threads may share it."""

    def __init__(self, encoder: MiniLM, bend: Float[Tensor, "width width"]) -> None:
        self._encoder = encoder
        self._bend = bend
        self._cache: Cache[str, Tensor] = Cache(CACHED_TEXTS)

    def rank(self, queries: Sequence[tuple[str, Sequence[str]]]) -> list[Ranks]:
        """Rank each label for its masked question, given as pairs (question, labels)."""
        texts = (text for question, labels in queries for text in (question, *map(label_question, labels)))
        vectors = self._cache.of(texts, self._vectors)
        return [cosines(vectors, question, labels) for question, labels in queries]

    def plain(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        """Return unit vectors of the texts, without the linear map."""
        return self._encoder.encode(texts).sentences

    @torch.inference_mode()
    def _vectors(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        passes = range(0, len(texts), TEXTS_PER_PASS)
        plain = torch.cat([self.plain(texts[start : start + TEXTS_PER_PASS]) for start in passes])
        return F.normalize(plain + plain @ self._bend, dim=-1)


def mask_mention(question: str, start: int, end: int) -> str:
    return f"{question[:start]}{MENTION}{question[end:]}"


def cosines(vectors: Mapping[str, Tensor], question: str, labels: Sequence[str]) -> dict[str, float]:
    """Compute the cosine of each label once, so that facts of one relation have one rank to the last bit."""
    distinct = list(dict.fromkeys(labels))
    if not distinct:
        return {}
    products = torch.stack([vectors[label_question(label)] for label in distinct]) @ vectors[question]
    return dict(zip(distinct, products.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class InjectedRelation:
    """One relation of an entity, hung on a word as one fact."""

    entity: Entity
    # All facts of the relation, sorted by object. The first is read, and all are the answer: they share a label, so
    # no rank could choose between them.
    values: tuple[Fact, ...]
    rank: float  # how well the label fits the question

    @property
    def text(self) -> str:
        """The text that is hung on the word; it ends with the object."""
        return f"{self.values[0].label} {self.values[0].object}"

    @property
    def answer(self) -> str:
        """All objects, joined as in a pack."""
        return ", ".join(sorted({fact.object for fact in self.values}))

    @property
    def has_period(self) -> bool:
        """Return whether all its facts hold at some times only."""
        return all(fact.has_period for fact in self.values)

    def to_json(self) -> tuple[dict[str, Any], ...]:
        """Return the facts of an answer that rests on the relation."""
        return tuple(fact_json(self.entity.id, self.entity.label, fact) for fact in self.values)


@dataclass(frozen=True)
class LeftOut:
    """A fact that is not read.

    Its reason is `empty` (no label or no object), `rank` (others fit better), `value` (its relation is read by another
    value), `mentions` (more words have facts than are read), or `room` (the text is too long).
    """

    entity: Entity
    fact: Fact
    reason: str


@dataclass(frozen=True)
class Link:
    """A mention with the entity that it is taken for.

    Its `fit` is the best rank of the entity's relations; `other_entities` are the others of that name with theirs, the
    best first.
    """

    start: int
    end: int
    entity: Entity
    fit: float
    relations: tuple[InjectedRelation, ...]
    other_entities: tuple[tuple[Entity, float], ...]
    left_out: tuple[LeftOut, ...]


def rankable_labels(mention: Mention) -> list[str]:
    """Return the labels to rank at a mention, each once."""
    labels = (fact.label for entity in mention.entities for fact in entity.facts if not is_empty(fact))
    return list(dict.fromkeys(labels))


def is_empty(fact: Fact) -> bool:
    return not fact.label.strip() or not fact.object.strip()


def link_mentions(
    mentions: Sequence[Mention], ranks: Sequence[Ranks], max_relations: int, max_mentions: int
) -> tuple[Link, ...]:
    """Take each mention for one entity, in the order of the text; among mentions that overlap the longest is read.

    Args:
        ranks: For each mention, the ranks of its `rankable_labels`.
    """
    pairs = [pair for pair in zip(mentions, ranks, strict=True) if pair[0].entities]
    links = [_link(*pair, max_relations) for pair in keep_longest(pairs, lambda pair: pair[0])]
    by_fit = sorted((link for link in links if link.relations), key=lambda link: (-link.fit, link.start))
    for link in by_fit[max_mentions:]:
        facts = (LeftOut(link.entity, relation.values[0], "mentions") for relation in link.relations)
        bare = replace(link, relations=(), left_out=(*link.left_out, *facts))
        links = [bare if other is link else other for other in links]
    return tuple(links)


def _link(mention: Mention, ranks: Ranks, max_relations: int) -> Link:
    """Choose the entity whose relations fit best, then the one with the most facts, then the first id."""
    fits = {
        entity.id: max((ranks[fact.label] for fact in entity.facts if not is_empty(fact)), default=NO_FIT)
        for entity in mention.entities
    }
    entity, *rest = sorted(mention.entities, key=lambda entity: (-fits[entity.id], -entity.degree, entity.id))
    by_relation: dict[str, list[Fact]] = {}
    for fact in entity.facts:
        if not is_empty(fact):
            by_relation.setdefault(fact.relation, []).append(fact)
    by_rank = sorted(by_relation.values(), key=lambda values: -ranks[values[0].label])
    groups = [tuple(sorted(values, key=lambda fact: fact.object)) for values in by_rank]
    left_out = [LeftOut(entity, fact, "empty") for fact in entity.facts if is_empty(fact)]
    left_out += [LeftOut(entity, fact, "value") for values in groups[:max_relations] for fact in values[1:]]
    left_out += [LeftOut(entity, fact, "rank") for values in groups[max_relations:] for fact in values]
    return Link(
        mention.start,
        mention.end,
        entity,
        fits[entity.id],
        tuple(InjectedRelation(entity, values, ranks[values[0].label]) for values in groups[:max_relations]),
        tuple((other, fits[other.id]) for other in rest),
        tuple(left_out),
    )
