"""The assembly of a pack from raw facts, step by step, and its files; the same facts give the same bytes."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from re import sub

from models.packs.files import digests
from models.packs.pack import (
    ALIAS_SEPARATOR,
    ENTITY_COLUMNS,
    FACT_COLUMNS,
    PROBE_COLUMNS,
    STRANGER_COLUMNS,
    Entity,
    Fact,
    Pack,
    Relation,
)
from models.training.packs.names import write_rows
from models.training.packs.naming import ANY_TYPE, LITERALS, Name, about_its_names, key, settle
from models.training.packs.samples import draw_probes, draw_strangers
from models.training.packs.selection import (
    ALIASES,
    SEED,
    Candidate,
    canonical,
    find_candidates,
    is_askable,
    select,
    without_homonyms,
    words_of_templates,
)
from models.training.packs.sources import BY_HAND, RawFact

NAME, VERSION = "world", "1.0.0"
BUILD_DATE = "2026-11-21"


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
    labels |= {
        key(answer)
        for candidate in candidates
        if relations[candidate.relation].object_type not in LITERALS
        for answer in candidate.answers
    }
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
    labels: dict[str, str] = {}
    for label, name in names.items():
        slug = f"w:{_slug(label)}"
        options = chain([name.id or slug], (f"{slug}-{place}" for place in count(2)))
        labels[next(id for id in options if id not in labels)] = label
    return {label: id for id, label in labels.items()}


def _slug(label: str) -> str:
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode()
    return sub(r"[^a-z0-9]+", "-", plain.casefold()).strip("-") or sha256(label.encode()).hexdigest()[:8]


def write(pack: Pack, folder: Path) -> None:
    """Write all files but relations.toml and README.md, which are written by hand."""
    entities = ((e.id, e.label, e.type, ALIAS_SEPARATOR.join(e.aliases)) for e in pack.entities.values())
    facts = ((f.subject_id, f.relation_id, f.object, f.object_id or "") for f in pack.facts)
    write_rows(folder / "entities.tsv", ENTITY_COLUMNS, entities)
    write_rows(folder / "facts.tsv", FACT_COLUMNS, facts)
    write_rows(folder / "strangers.tsv", STRANGER_COLUMNS, map(astuple, pack.strangers))
    write_rows(folder / "probe.tsv", PROBE_COLUMNS, map(astuple, pack.probes))
    (folder / "pack.toml").write_text(_about(pack, folder), "utf-8", newline="\n")


def _about(pack: Pack, folder: Path) -> str:
    counts = {
        "relations": len(pack.relations),
        "items": sum(1 for _ in pack.items()),
        "entities": len(pack.entities),
        "facts": len(pack.facts),
        "strangers": len(pack.strangers),
        "probes": len(pack.probes),
    }
    lines = [
        "# Written by `python -m models.training.packs`; edit the sources, not this file.",
        f'name = "{pack.name}"',
        f'version = "{pack.version}"',
        f'built = "{BUILD_DATE}"',
        f"seed = {SEED}",
        *(
            "\n[[licences]]\n" + "\n".join(f'{field} = "{text}"' for field, text in licence.items())
            for licence in BY_HAND["licences"]
        ),
        "\n[counts]",
        *(f"{name} = {count}" for name, count in counts.items()),
        "\n[files] # sha256",
        *(f'"{name}" = "{digest}"' for name, digest in digests(folder).items()),
    ]
    return "\n".join(lines) + "\n"
