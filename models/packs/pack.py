"""A pack is a folder of facts. `Pack.load` reads it and refuses it, by file and line, when it is malformed.

The format is described in world/README.md. A name, case-folded, belongs to one entity.
Its questions are probes, by which a system that was trained on it shows the side effects of an edit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from more_itertools import map_reduce

from models.packs.files import PackError as PackError  # offered here, too, for callers that load a pack
from models.packs.files import check, digest, rows, toml
from models.system import Probes

WORLD = Path(__file__).parent / "world"

ENTITY_COLUMNS = ("id", "label", "type", "aliases")
FACT_COLUMNS = ("subject_id", "relation_id", "object", "object_id")
STRANGER_COLUMNS = ("subject", "relation_id", "split")
PROBE_COLUMNS = ("question", "relation_id", "answer", "subject_id")
ALIAS_SEPARATOR = " | "
FEWEST_TEMPLATES = {"phrasings": 6, "held": 3, "statements": 2}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation. `phrasings[0]` is canonical; few trainings learn `held_out` (`held` in the file)."""

    id: str
    label: str
    property: str | None
    cardinality: Literal["one", "many"]
    subject_type: str
    object_type: str
    phrasings: tuple[str, ...]
    held_out: tuple[str, ...]
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
class UnknownEntity:
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
    strangers: tuple[UnknownEntity, ...]
    probes: tuple[Probe, ...]

    @classmethod
    def load(cls, folder: Path | str = WORLD) -> "Pack":
        """Read and check every file. PackError: a file is missing, altered or malformed."""
        folder = Path(folder)
        about = _about(folder)
        relations = read_relations(folder / "relations.toml")
        entities = _entities(folder / "entities.tsv")
        facts = tuple(_facts(folder / "facts.tsv", relations, entities))
        strangers = tuple(_strangers(folder / "strangers.tsv", relations, entities))
        probes = tuple(_probes(folder / "probe.tsv", relations, entities, _answers(facts)))
        return cls(about["name"], about["version"], relations, entities, facts, strangers, probes)

    def items(self) -> Iterator[Item]:
        """Yield an item for each subject and relation, in the order of the facts."""
        for (subject, relation), answer in _answers(self.facts).items():
            yield Item(self.entities[subject], self.relations[relation], answer)


def read_relations(path: Path) -> dict[str, Relation]:
    """Read the relations by id, in the order of the file. PackError: the file is malformed."""
    tables = toml(path)
    lines = {line.strip(): number for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)}
    relations: dict[str, Relation] = {}
    owners: dict[str, str] = {}
    for name, table in tables.items():
        where = f"{path}:{lines.get(f'[{name}]', 1)}"
        relations[name] = _relation(where, name, table)
        for template in relations[name].phrasings + relations[name].held_out:
            owner = owners.setdefault(template.casefold(), name)
            check(owner == name, where, f"'{template}' also asks for {owner}: reword one of the two")
    return relations


def _relation(where: str, name: str, table: Any) -> Relation:
    check(isinstance(table, dict), where, f"'{name}' is not a table: write it as [{name}]")
    for key in ("label", "cardinality", "subject_type", "object_type"):
        check(isinstance(table.get(key), str), where, f'relation {name} lacks {key}: add {key} = "..."')
    check(table["cardinality"] in ("one", "many"), where, f'cardinality of {name} must be "one" or "many"')
    templates: dict[str, tuple[str, ...]] = {}
    for key, fewest in FEWEST_TEMPLATES.items():
        texts = table.get(key)
        enough = isinstance(texts, list) and len(texts) >= fewest
        check(enough, where, f"relation {name} needs at least {fewest} {key}: add them as a list")
        slots = ["{subject}", "{object}"] if key == "statements" else ["{subject}"]
        for text in texts:
            once = isinstance(text, str) and all(text.count(slot) == 1 for slot in slots)
            check(once, where, f"{key} of {name} must hold {' and '.join(slots)} once: mend '{text}'")
        for text, times in Counter(text.casefold() for text in texts).items():
            check(times == 1, where, f"{key} of {name} say '{text}' {times} times: keep one")
        templates[key] = tuple(texts)
    overlap = set(templates["phrasings"]) & set(templates["held"])
    check(not overlap, where, f"{name} trains on held {sorted(overlap)}: remove it from one of the two lists")
    return Relation(
        id=name,
        label=table["label"],
        property=table.get("property"),
        cardinality=table["cardinality"],
        subject_type=table["subject_type"],
        object_type=table["object_type"],
        phrasings=templates["phrasings"],
        held_out=templates["held"],
        statements=templates["statements"],
    )


def _about(folder: Path) -> dict[str, Any]:
    path = folder / "pack.toml"
    about = toml(path)
    for key in ("name", "version"):
        check(isinstance(about.get(key), str), f"{path}:1", f'the pack lacks {key}: add {key} = "..."')
    files = about.get("files", {})
    check(isinstance(files, dict), f"{path}:1", "files is not a table: write it as [files]")
    for name, expected in files.items():
        file = folder / name
        check(file.is_file(), f"{path}:1", f"{name} is listed but missing: build the pack again")
        check(
            digest(file) == expected,
            f"{file}:1",
            f"pack.toml was written for another {name}: build the pack again",
        )
    return about


def _entities(path: Path) -> dict[str, Entity]:
    entities: dict[str, Entity] = {}
    owners: dict[str, str] = {}
    for where, (key, label, kind, aliases) in rows(path, ENTITY_COLUMNS):
        check(bool(key and label and kind), where, "id, label and type must not be empty: fill them in")
        other_names = aliases.split(ALIAS_SEPARATOR) if aliases else []
        all_filled = all(alias.strip(ALIAS_SEPARATOR) for alias in other_names)
        check(all_filled, where, f"an alias of {key} is empty: remove it, and the '|' beside it")
        check(key not in entities, where, f"the id {key} is used twice: give each entity its own")
        entity = Entity(key, label, kind, tuple(other_names))
        entities[key] = entity
        for name in entity.names:
            owner = owners.setdefault(name.casefold(), key)
            check(owner == key, where, f"'{name}' already names {owner}: keep one of the two")
    return entities


def _facts(path: Path, relations: dict[str, Relation], entities: dict[str, Entity]) -> Iterator[Fact]:
    objects: dict[tuple[str, str], set[str]] = defaultdict(set)
    for where, (subject, relation, answer, target) in rows(path, FACT_COLUMNS):
        check(subject in entities, where, f"entity {subject} is not in entities.tsv: add it there")
        check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        check(bool(answer), where, "the object is empty: fill it in or remove the line")
        if target:
            agrees = target in entities and entities[target].label == answer
            check(agrees, where, f"{target} is not '{answer}' in entities.tsv: make the two agree")
        answers = objects[subject, relation]
        check(answer not in answers, where, "the fact is there twice: remove the line")
        single = not answers or relations[relation].cardinality == "many"
        check(single, where, f"{subject} has a second {relation}, which is one to a subject: keep one")
        answers.add(answer)
        yield Fact(subject, relation, answer, target or None)


def _answers(facts: Iterable[Fact]) -> dict[tuple[str, str], str]:
    """Join the objects of each subject and relation, in the order of the facts."""
    objects = map_reduce(facts, lambda fact: (fact.subject_id, fact.relation_id), lambda fact: fact.object)
    return {question: ", ".join(sorted(answers)) for question, answers in objects.items()}


def _strangers(
    path: Path, relations: Mapping[str, Relation], entities: Mapping[str, Entity]
) -> Iterator[UnknownEntity]:
    owners = {name.casefold(): entity.id for entity in entities.values() for name in entity.names}
    for where, (subject, relation, split) in rows(path, STRANGER_COLUMNS, optional=True):
        check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        check(split in ("tune", "test"), where, f"the split is '{split}': write tune or test")
        owner = owners.get(subject.casefold())
        check(owner is None, where, f"'{subject}' names {owner}, so it is no stranger: remove the line")
        yield UnknownEntity(subject, relation, cast(Literal["tune", "test"], split))


def _probes(
    path: Path,
    relations: Mapping[str, Relation],
    entities: Mapping[str, Entity],
    answers: Mapping[tuple[str, str], str],
) -> Iterator[Probe]:
    for where, (question, relation, answer, subject) in rows(path, PROBE_COLUMNS, optional=True):
        check(relation in relations, where, f"relation {relation} is not in relations.toml: add it there")
        check(subject in entities, where, f"entity {subject} is not in entities.tsv: add it there")
        check(bool(question.strip()), where, "the question is empty: fill it in or remove the line")
        fact_answer = answers.get((subject, relation))
        check(fact_answer is not None, where, f"facts.tsv has no {relation} of {subject}: add it there")
        check(
            answer == fact_answer,
            where,
            f"the answer is '{answer}', that of facts.tsv '{fact_answer}': make the two agree",
        )
        yield Probe(question, relation, answer, subject)


@lru_cache(1)  # systems of one process are trained on one pack
def pack_probes() -> Probes:
    """Read the whole pack. PackError: the pack is damaged."""
    pack = Pack.load(WORLD)
    return Probes(
        core=tuple(probe.question for probe in pack.probes),
        training=tuple(item.relation.question(item.subject.label) for item in pack.items()),
        templates=tuple((*relation.held_out, *relation.phrasings) for relation in pack.relations.values()),
    )


class PackProbes:
    """A system that was trained on the pack, whose questions are its probes."""

    @property
    def probes(self) -> Probes:
        """Return the questions of the pack."""
        return pack_probes()
