"""The assembly of a pack from raw facts, step by step."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from re import sub

from models.packs.pack import Entity, Fact, Pack, Relation
from models.training.packs.cleaning import (
    ALIASES,
    canonical,
    is_askable,
    without_homonyms,
    words_of_templates,
)
from models.training.packs.naming import ANY_TYPE, LITERALS, Name, about_its_names, key, settle
from models.training.packs.raw import RawFact
from models.training.packs.samples import draw_probes, draw_strangers
from models.training.packs.selection import Candidate, find_candidates, select

NAME, VERSION = "world", "1.0.0"


def make(raw: Iterable[RawFact], relations: dict[str, Relation]) -> Pack:
    question_words = words_of_templates(relations)
    facts = without_homonyms((f for f in map(canonical, raw) if is_askable(f, question_words)), relations)
    names = settle(facts, relations)
    clear = [fact for fact in facts if about_its_names(fact, names, relations)]
    pack = assemble(select(find_candidates(clear, relations)), names, relations)
    pack_names = [name for entity in pack.entities.values() for name in entity.names]
    pack_names += [fact.object for fact in pack.facts]
    strangers = draw_strangers(facts, pack_names, question_words)
    return replace(pack, strangers=tuple(strangers), probes=tuple(draw_probes(pack.items())))


def assemble(
    candidates: Sequence[Candidate], names: Mapping[str, Name], relations: dict[str, Relation]
) -> Pack:
    """Assemble a pack without strangers and probes; entities are sorted by id, facts by all their fields."""
    labels = {candidate.subject for candidate in candidates}
    for candidate in candidates:
        if relations[candidate.relation].object_type not in LITERALS:
            labels.update(key(answer) for answer in candidate.answers)
    ids = _ids({label: names[label] for label in sorted(labels)})
    entities = sorted(_entities(ids, names), key=lambda entity: entity.id)
    facts = (fact for candidate in candidates for fact in _facts(candidate, ids, names, relations))
    sorted_facts = sorted(facts, key=lambda fact: (fact.subject_id, fact.relation_id, fact.object))
    return Pack(
        NAME, VERSION, relations, {entity.id: entity for entity in entities}, tuple(sorted_facts), (), ()
    )


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
        yield Entity(id, name.label, "thing" if name.type == ANY_TYPE else name.type, aliases)


def _ids(names: Mapping[str, Name]) -> dict[str, str]:
    """Return Wikidata's id of each label, or w:<slug>, numbered if two labels have one slug."""
    ids: dict[str, str] = {}
    used_ids: set[str] = set()
    for label, name in names.items():
        id = name.id or f"w:{_slug(label)}"
        place = 2
        while id in used_ids:
            id = f"w:{_slug(label)}-{place}"
            place += 1
        used_ids.add(id)
        ids[label] = id
    return ids


def _slug(label: str) -> str:
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode()
    return sub(r"[^a-z0-9]+", "-", plain.casefold()).strip("-") or sha256(label.encode()).hexdigest()[:8]
