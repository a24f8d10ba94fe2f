"""A pack is a folder of facts; this loads one and refuses it, by file and line, when it is malformed.

The format is described in world/README.md. A name, case-folded, is one entity's.
"""

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

WORLD = Path(__file__).parent / "world"

ENTITY_COLUMNS = ("id", "label", "type", "aliases")
FACT_COLUMNS = ("subject_id", "relation_id", "object", "object_id")
STRANGER_COLUMNS = ("subject", "relation_id", "split")
PROBE_COLUMNS = ("question", "relation_id", "answer", "subject_id")
ALIAS_SEPARATOR = " | "
FEWEST_TEMPLATES = {"phrasings": 6, "held": 3, "statements": 2}


class PackError(ValueError):
    """A pack cannot be used. The message is one sentence: where, what is wrong, what to do."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What can be asked. `phrasings[0]` is canonical; `held` is for tests only, never for training."""

    id: str
    label: str
    property: str | None
    cardinality: Literal["one", "many"]
    subject_type: str
    object_type: str
    phrasings: tuple[str, ...]
    held: tuple[str, ...]
    statements: tuple[str, ...]

    def question(self, subject: str, phrasing: int = 0) -> str:
        return self.phrasings[phrasing].replace("{subject}", subject)


@dataclass(frozen=True, slots=True)
class Entity:
    id: str
    label: str
    type: str
    aliases: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple. `object` is the label as answered; `object_id` is None where it is a number or a text."""

    subject_id: str
    relation_id: str
    object: str
    object_id: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its answer: all the objects of one subject and relation, joined by ", "."""

    subject: Entity
    relation: Relation
    answer: str


@dataclass(frozen=True, slots=True)
class Stranger:
    """A real name that the pack does not hold, to see whether a model declines to answer about it."""

    subject: str
    relation_id: str
    split: Literal["tune", "test"]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question on which the side effects of an edit are measured."""

    question: str
    relation_id: str
    answer: str
    subject_id: str


@dataclass(frozen=True, slots=True)
class Pack:
    name: str
    version: str
    relations: dict[str, Relation]
    entities: dict[str, Entity]
    facts: tuple[Fact, ...]
    strangers: tuple[Stranger, ...]
    probes: tuple[Probe, ...]

    @classmethod
    def load(cls, folder: Path | str = WORLD) -> "Pack":
        """Read and check every file. Raises PackError."""
        folder = Path(folder)
        about = _about(folder)
        relations = read_relations(folder / "relations.toml")
        entities = _entities(folder / "entities.tsv")
        facts = tuple(_facts(folder / "facts.tsv", relations, entities))
        strangers = tuple(_strangers(folder / "strangers.tsv", relations))
        probes = tuple(_probes(folder / "probe.tsv", relations, entities))
        return cls(about["name"], about["version"], relations, entities, facts, strangers, probes)

    def items(self) -> Iterator[Item]:
        """One question-answer item for each (subject, relation), in the order of the facts."""
        objects: dict[tuple[str, str], list[str]] = defaultdict(list)
        for fact in self.facts:
            objects[fact.subject_id, fact.relation_id].append(fact.object)
        for (subject, relation), answers in objects.items():
            yield Item(self.entities[subject], self.relations[relation], ", ".join(sorted(answers)))


def read_relations(path: Path) -> dict[str, Relation]:
    """Relations by id, in the order of the file. Raises PackError."""
    tables = _toml(path)
    lines = {line.strip(): number for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)}
    relations: dict[str, Relation] = {}
    owners: dict[str, str] = {}
    for name, table in tables.items():
        where = f"{path}:{lines.get(f'[{name}]', 1)}"
        relations[name] = _relation(where, name, table)
        for template in relations[name].phrasings + relations[name].held:
            owner = owners.setdefault(template.casefold(), name)
            _check(owner == name, where, f"'{template}' also asks for {owner}: reword one of the two")
    return relations


def _relation(where: str, name: str, table: Any) -> Relation:
    _check(isinstance(table, dict), where, f"'{name}' is not a table: write it as [{name}]")
    for key in ("label", "cardinality", "subject_type", "object_type"):
        _check(isinstance(table.get(key), str), where, f'relation {name} lacks {key}: add {key} = "..."')
    _check(table["cardinality"] in ("one", "many"), where, f'cardinality of {name} must be "one" or "many"')
    templates = {key: _templates(where, name, key, table.get(key)) for key in FEWEST_TEMPLATES}
    both = set(templates["phrasings"]) & set(templates["held"])
    _check(not both, where, f"{name} trains on held {sorted(both)}: remove it from one of the two lists")
    return Relation(
        id=name,
        label=table["label"],
        property=table.get("property"),
        cardinality=table["cardinality"],
        subject_type=table["subject_type"],
        object_type=table["object_type"],
        **templates,
    )


def _templates(where: str, name: str, key: str, found: Any) -> tuple[str, ...]:
    fewest = FEWEST_TEMPLATES[key]
    enough = isinstance(found, list) and len(found) >= fewest
    _check(enough, where, f"relation {name} needs at least {fewest} {key}: add them as a list")
    slots = ["{subject}", "{object}"] if key == "statements" else ["{subject}"]
    for template in found:
        once = isinstance(template, str) and all(template.count(slot) == 1 for slot in slots)
        _check(once, where, f"{key} of {name} must hold {' and '.join(slots)} once: mend '{template}'")
    return tuple(found)


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "pack.toml"
    about = _toml(path)
    for key in ("name", "version"):
        _check(isinstance(about.get(key), str), f"{path}:1", f'the pack lacks {key}: add {key} = "..."')
    for name, digest in about.get("files", {}).items():
        file = folder / name
        _check(file.is_file(), f"{path}:1", f"{name} is listed but missing: build the pack again")
        same = hashlib.sha256(file.read_bytes()).hexdigest() == digest
        _check(same, f"{file}:1", f"pack.toml was written for another {name}: build the pack again")
    return about


def _entities(path: Path) -> dict[str, Entity]:
    entities: dict[str, Entity] = {}
    owners: dict[str, str] = {}
    for where, (key, label, kind, aliases) in _rows(path, ENTITY_COLUMNS):
        _check(bool(key and label and kind), where, "id, label and type must not be empty: fill them in")
        _check(key not in entities, where, f"the id {key} is used twice: give each entity its own")
        entity = Entity(key, label, kind, tuple(aliases.split(ALIAS_SEPARATOR)) if aliases else ())
        entities[key] = entity
        for name in entity.names:
            owner = owners.setdefault(name.casefold(), key)
            _check(owner == key, where, f"'{name}' already names {owner}: keep one of the two")
    return entities


def _facts(path: Path, relations: dict[str, Relation], entities: dict[str, Entity]) -> Iterator[Fact]:
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    for where, (subject, relation, answer, target) in _rows(path, FACT_COLUMNS):
        _check(subject in entities, where, f"entity {subject} is not in entities.tsv: add it there")
        _check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        _check(bool(answer), where, "the object is empty: fill it in or remove the line")
        if target:
            known = target in entities and entities[target].label == answer
            _check(known, where, f"{target} is not '{answer}' in entities.tsv: make the two agree")
        others = seen[subject, relation]
        _check(answer not in others, where, "the fact is there twice: remove the line")
        single = not others or relations[relation].cardinality == "many"
        _check(single, where, f"{subject} has a second {relation}, which is one to a subject: keep one")
        others.add(answer)
        yield Fact(subject, relation, answer, target or None)


def _strangers(path: Path, relations: dict[str, Relation]) -> Iterator[Stranger]:
    for where, (subject, relation, split) in _rows(path, STRANGER_COLUMNS, optional=True):
        _check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        _check(split in ("tune", "test"), where, f"the split is '{split}': write tune or test")
        yield Stranger(subject, relation, cast(Literal["tune", "test"], split))


def _probes(path: Path, relations: dict[str, Relation], entities: dict[str, Entity]) -> Iterator[Probe]:
    for where, (question, relation, answer, subject) in _rows(path, PROBE_COLUMNS, optional=True):
        _check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        _check(subject in entities, where, f"entity {subject} is not in entities.tsv: add it there")
        yield Probe(question, relation, answer, subject)


def _rows(path: Path, columns: tuple[str, ...], optional: bool = False) -> Iterator[tuple[str, list[str]]]:
    """("file:line", fields) of each line after the header. Tab-separated, nothing quoted."""
    if not path.is_file():
        _check(optional, f"{path}:1", "the file is missing: a pack needs it")
        return
    lines = _text(path).split("\n")
    titled = lines[0] == "\t".join(columns)
    _check(titled, f"{path}:1", f"the header must be {', '.join(columns)}: write it so")
    for number, line in enumerate(lines[1:], 2):
        if not line and number == len(lines):
            return
        fields = line.split("\t")
        where = f"{path}:{number}"
        _check(len(fields) == len(columns), where, f"expected {len(columns)} columns: check the tabs")
        yield where, fields


def _toml(path: Path) -> dict[str, Any]:
    _check(path.is_file(), f"{path}:1", "the file is missing: a pack needs it")
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PackError(f"{path}: not valid TOML ({error}): mend it.") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise PackError(f"{path}: not UTF-8 at byte {error.start}: save it as UTF-8.") from error


def _check(holds: bool, where: str, problem: str) -> None:
    if not holds:
        raise PackError(f"{where}: {problem}.")
