"""What the graph holds before any edit: the facts and the names of a pack."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.graph.statement import ALIAS, LABEL, Cardinality, Statement
from models.packs.pack import WORLD, Pack, Relation


@dataclass(frozen=True)
class Base:
    """digest: of the pack's facts, names and relations. statements: entity id -> what the pack says of it."""

    digest: str
    statements: Mapping[str, tuple[Statement, ...]]
    relations: Mapping[str, Relation]

    @staticmethod
    def of(folder: Path = WORLD) -> Base:
        """PackError when the pack is damaged."""
        pack = Pack.load(folder)
        statements: dict[str, list[Statement]] = defaultdict(list)
        for entity in pack.entities.values():
            statements[entity.id] += [
                Statement(LABEL, entity.label),
                *(Statement(ALIAS, a) for a in entity.aliases),
            ]
        for fact in pack.facts:
            statements[fact.subject_id].append(Statement(fact.relation_id, fact.object, fact.object_id or ""))
        return Base(
            _digest(statements, pack.relations),
            {id: tuple(s) for id, s in statements.items()},
            pack.relations,
        )

    def label(self, relation: str) -> str:
        """How people call a relation; of one that the pack does not know, what its name says."""
        known = self.relations.get(relation)
        return known.label if known else spoken(relation)

    def cardinality(self, relation: str) -> Cardinality:
        """One that the pack does not know may hold many values: nothing is lost by it."""
        known = self.relations.get(relation)
        return known.cardinality if known else "many"


def spoken(relation: str) -> str:
    """A relation's name as words: `place_of_birth`, `placeOfBirth` and `place-of-birth` are `place of birth`."""
    words = "".join(
        f" {c.lower()}" if c.isupper() and before.islower() else c for before, c in _pairs(relation)
    )
    return " ".join(words.replace("_", " ").replace("-", " ").split()) or relation


def _pairs(text: str) -> zip[tuple[str, str]]:
    return zip(" " + text, text, strict=False)


def _digest(statements: Mapping[str, list[Statement]], relations: Mapping[str, Relation]) -> str:
    total = hashlib.sha256()
    for id in sorted(statements):
        total.update(repr((id, [tuple(one) for one in statements[id]])).encode())
    for name in sorted(relations):
        total.update(repr((name, relations[name].label, relations[name].cardinality)).encode())
    return "sha256:" + total.hexdigest()
