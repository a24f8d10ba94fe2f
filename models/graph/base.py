"""The graph before any edit: the facts and the names of a pack."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from models.graph.in_edges import InEdge, find_in_edges
from models.graph.statement import ALIAS, LABEL, Cardinality, Statement, shorten
from models.packs.pack import WORLD, Pack, Relation


@dataclass(frozen=True)
class Base:
    """The graph of a pack."""

    digest: str  # digest of the pack's facts, names and relations
    statements: Mapping[str, tuple[Statement, ...]]  # entity id -> statements of the pack about it
    relations: Mapping[str, Relation]

    @staticmethod
    def of(folder: Path = WORLD) -> Base:
        """Read the graph of a pack. PackError: the pack is damaged."""
        pack = Pack.load(folder)
        statements: dict[str, list[Statement]] = defaultdict(list)
        for entity in pack.entities.values():
            names = [Statement(ALIAS, alias) for alias in entity.aliases]
            statements[entity.id] += [Statement(LABEL, entity.label), *names]
        for fact in pack.facts:
            statements[fact.subject_id].append(Statement(fact.relation_id, fact.object, fact.object_id or ""))
        return Base(
            digest_of(statements, pack.relations),
            {id: tuple(s) for id, s in statements.items()},
            pack.relations,
        )

    @cached_property
    def in_edges(self) -> Mapping[str, tuple[InEdge, ...]]:
        """Return the edges that lead to each entity, in the order of the pack."""
        edges: dict[str, list[InEdge]] = defaultdict(list)
        for subject, statements in self.statements.items():
            for object_id, edge in find_in_edges(subject, statements):
                edges[object_id].append(edge)
        return {id: tuple(of_object) for id, of_object in edges.items()}

    def label(self, relation: str) -> str:
        """Return how people call a relation; the words of its name if the pack does not know it."""
        pack_relation = self.relations.get(relation)
        return pack_relation.label if pack_relation else to_words(relation)

    def cardinality(self, relation: str) -> Cardinality:
        """Return how many values a relation holds; many if the pack does not know it, so that no value is lost."""
        pack_relation = self.relations.get(relation)
        return pack_relation.cardinality if pack_relation else "many"


def to_words(relation: str) -> str:
    """Split a relation's name into words: `place_of_birth` and `placeOfBirth` are `place of birth`."""
    pairs = zip(" " + relation, relation, strict=False)
    words = "".join(f" {c.lower()}" if c.isupper() and before.islower() else c for before, c in pairs)
    return " ".join(words.replace("_", " ").replace("-", " ").split()) or relation


def digest_of(statements: Mapping[str, list[Statement]], relations: Mapping[str, Relation]) -> str:
    total = hashlib.sha256()
    for id in sorted(statements):
        total.update(repr((id, [tuple(shorten(statement)) for statement in statements[id]])).encode())
    for name in sorted(relations):
        total.update(repr((name, relations[name].label, relations[name].cardinality)).encode())
    return "sha256:" + total.hexdigest()
