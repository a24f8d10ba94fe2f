"""From selected questions to the entities and triples of a pack."""

import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import sha256
from re import sub

from models.packs.pack import Entity, Fact, Pack, Relation
from models.training.packs.cleaning import ALIASES
from models.training.packs.naming import ANYTHING, LITERALS, Name, key
from models.training.packs.selection import Candidate

NAME, VERSION = "world", "1.0.0"


def assemble(
    selected: Iterable[Candidate], names: Mapping[str, Name], relations: dict[str, Relation]
) -> Pack:
    """A pack without strangers and probes: entities sorted by id, facts sorted whole."""
    selected = list(selected)
    labels = {candidate.subject for candidate in selected}
    for candidate in selected:
        if relations[candidate.relation].object_type not in LITERALS:
            labels.update(key(answer) for answer in candidate.answers)
    ids = _ids({label: names[label] for label in sorted(labels)})
    entities = sorted(_entities(ids, names), key=lambda entity: entity.id)
    facts = (fact for candidate in selected for fact in _facts(candidate, ids, names, relations))
    ordered = sorted(facts, key=lambda fact: (fact.subject_id, fact.relation_id, fact.object))
    return Pack(NAME, VERSION, relations, {entity.id: entity for entity in entities}, tuple(ordered), (), ())


def _facts(
    candidate: Candidate, ids: Mapping[str, str], names: Mapping[str, Name], relations: Mapping[str, Relation]
) -> Iterable[Fact]:
    literal = relations[candidate.relation].object_type in LITERALS
    for answer in candidate.answers:
        label = answer if literal else names[key(answer)].label
        yield Fact(ids[candidate.subject], candidate.relation, label, None if literal else ids[key(answer)])


def _entities(ids: Mapping[str, str], names: Mapping[str, Name]) -> Iterable[Entity]:
    for label, id in ids.items():
        name = names[label]
        aliases = tuple(alias for alias in ALIASES.get(name.label, ()) if key(alias) not in ids)
        yield Entity(id, name.label, "thing" if name.type == ANYTHING else name.type, aliases)


def _ids(names: Mapping[str, Name]) -> dict[str, str]:
    """Wikidata's id where there is one, else w:<slug>, numbered where two labels make one slug."""
    ids: dict[str, str] = {}
    used: set[str] = set()
    for label, name in names.items():
        id = name.id or f"w:{_slug(label)}"
        place = 2
        while id in used:
            id = f"w:{_slug(label)}-{place}"
            place += 1
        used.add(id)
        ids[label] = id
    return ids


def _slug(label: str) -> str:
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode()
    return sub(r"[^a-z0-9]+", "-", plain.casefold()).strip("-") or sha256(label.encode()).hexdigest()[:8]
