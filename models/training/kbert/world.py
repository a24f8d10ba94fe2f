"""Entities and facts of the pack that examples for training may use, and objects to swap in."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.packs.pack import Entity, Pack
from models.training.kbert.relations import Relations, RelationText, fits

LISTS = {
    "cause": "pneumonia|tuberculosis|a heart attack|cancer|a car accident|drowning|cholera|old age|a stroke|a fall",
    "award": "Order of Merit|Golden Globe|Pulitzer Prize|Fields Medal|Grammy|Iron Cross|Prix Goncourt|Turing Award",
    "rank": "captain|colonel|major general|sergeant|lieutenant|admiral|private|brigadier|corporal|field marshal",
    "branch": "navy|air force|infantry|Royal Marines|coast guard|artillery|cavalry|United States Army|Luftwaffe",
    "party": "Labour Party|Green Party|Christian Democrats|Liberal Party|Republican Party|Social Democrats|Fatah",
    "colour": "blue|green|brown|grey|silvery white|hazel|red|black|yellow|colourless|orange|violet",
    "people": "Bengalis|Kurds|Tamils|Basques|Han Chinese|Yoruba|Scots|Maori|Sami people|Armenians|Catalans",
    "voice": "soprano|tenor|bass|mezzo-soprano|baritone|contralto|countertenor",
    "word": "Lucky|The Fox|Old Tom|Sparky|Iron Lady|Bones|The Professor|Red|Duke|Shorty|Magic|The Rock",
    "exchange": "New York Stock Exchange|Nasdaq|Tokyo Stock Exchange|Euronext|London Stock Exchange|Bombay Exchange",
    "league": "Premier League|Serie A|Bundesliga|National League|Ligue 1|Super League|Major League Soccer|NBA",
    "phrase": "Unity and freedom|Ever onward|Truth prevails|Land of my fathers|Be prepared|Hope and glory|Just do it",
    "system": "Windows|Linux|macOS|Android|iOS|MS-DOS|FreeBSD|Palm OS|Unix|Solaris",
    "code_language": "C++|Java|Python|Fortran|Rust|COBOL|Haskell|Pascal|assembly|JavaScript|Lisp",
    "engine": "diesel engine|V8 engine|gas turbine|electric motor|steam engine|Rolls-Royce Merlin|jet engine",
    "time_zone": "UTC+1|UTC-5|UTC+05:30|Central European Time|Pacific Time|UTC+9|Eastern Time|UTC",
    "government": "constitutional monarchy|federal republic|unitary state|absolute monarchy|parliamentary republic",
    "side": "left|right|left-hand side|right-hand side",
    "state": "solid|liquid|gas|a metal that is liquid",
    "sport": "football|tennis|cricket|rowing|baseball|ice hockey|sumo|judo|rugby union|volleyball|chess|golf",
    "event": "the great fire|a bankruptcy|the first landing|a merger|a coronation|the battle of the bridge|a flood",
    "material": "oak|bronze|concrete|steel|marble|cotton|glass|plastic|leather|sandstone|silver|paper",
    "month": "January|February|March|April|May|June|July|August|September|October|November|December",
}

GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "date": lambda r: f"{r.randint(1, 28)} {_pick('month', r)} {r.randint(1600, 2020)}",
    "year": lambda r: str(r.randint(1400, 2024)),
    "count": lambda r: (
        f"{r.randint(1, 999):,}{r.choice(['', ',000', f',{r.randint(100, 999)}', ' million'])}"
    ),
    "number": lambda r: str(r.randint(1, 150)),
    "length": lambda r: r.choice(
        [f"{r.randint(150, 210)} cm", f"{r.randint(2, 4000)} m", f"1.{r.randint(50, 99)} m"]
    ),
    "money": lambda r: (
        f"{r.choice(['$', 'US$', '€', '£'])}{r.randint(1, 990)}{r.choice(['', ' million', ',000'])}"
    ),
    "website": lambda r: (
        f"www.{r.choice(['acme', 'north', 'blue', 'city', 'star'])}{r.randint(1, 99)}.{r.choice(['com', 'org'])}"
    ),
    "duration": lambda r: f"{r.randint(20, 240)} minutes",
    "version": lambda r: f"{r.randint(0, 20)}.{r.randint(0, 12)}" + r.choice(["", f".{r.randint(0, 9)}"]),
    "weight": lambda r: f"{r.randint(1, 3000)} {r.choice(['kg', 'g', 'tonnes'])}",
    "speed": lambda r: f"{r.randint(20, 900)} {r.choice(['km/h', 'mph', 'knots'])}",
    "area": lambda r: f"{r.randint(1, 900)}{r.choice(['', ',000', '.5'])} km²",
    "digits": lambda r: str(r.randint(1000, 99999)),
    "temperature": lambda r: f"{r.randint(-250, 3500)} °C",
    "decimal": lambda r: f"{r.randint(0, 250)}.{r.randint(1, 999)}",
    "text": lambda r: "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(1, 4))),
}


@dataclass(frozen=True)
class World:
    """Facts and names that training may see.

    Attributes:
        facts: Subject -> relation -> first object.
        subjects: Relation -> ids of the subjects that have it.
        held_out: Ids of the subjects that training never sees.
        names: Type -> labels of the others.
        pools: Relation or type -> objects.
        near: Relation -> relations that are easily taken for it, the nearest first.
    """

    relations: Relations
    entities: Mapping[str, Entity]
    facts: Mapping[str, Mapping[str, str]]
    subjects: Mapping[str, Sequence[str]]
    held_out: frozenset[str]
    names: Mapping[str, Sequence[str]]
    pools: Mapping[str, Sequence[str]]
    near: Mapping[str, Sequence[str]]

    def fitting(self, type: str) -> list[str]:
        """Return relations of training that an entity of this type may have."""
        return [id for id, relation in self.relations.train.items() if fits(relation, type)]

    def draw_object(self, relation: RelationText, rng: random.Random) -> str:
        """Draw an object that the relation could have."""
        invention = invent(relation.object, rng) if relation.is_practice else None
        if invention is not None:
            return invention
        narrow = self.pools.get(relation.id, ())
        wide = self.pools.get(relation.object) or self.pools["any"]
        return rng.choice(narrow if narrow and rng.random() < 0.7 else wide)


def build_world(
    pack: Pack, relations: Relations, share: float, seed: int, near: Mapping[str, Sequence[str]]
) -> World:
    """Build the world, with a share of the subjects held out."""
    items = list(pack.items())
    subjects = sorted({item.subject.id for item in items})
    held_out = frozenset(random.Random(f"{seed}/entities").sample(subjects, round(share * len(subjects))))
    facts: dict[str, dict[str, str]] = defaultdict(dict)
    by_relation: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.subject.id not in held_out and item.relation.id in relations.train:
            holds_many = item.relation.cardinality == "many"
            answer = item.answer.split(", ")[0] if holds_many else item.answer
            facts[item.subject.id][item.relation.id] = answer
            by_relation[item.relation.id].append(item.subject.id)
    names: dict[str, list[str]] = defaultdict(list)
    for entity in pack.entities.values():
        if entity.id not in held_out:
            names[entity.type].append(entity.label)
    pools = _pool_objects(pack, relations, held_out)
    return World(relations, pack.entities, facts, by_relation, held_out, names, pools, near)


def _pool_objects(pack: Pack, relations: Relations, held_out: frozenset[str]) -> dict[str, list[str]]:
    pools: dict[str, set[str]] = defaultdict(set)
    for fact in pack.facts:
        relation = pack.relations[fact.relation_id]
        if fact.subject_id not in held_out and relation.id in relations.train:
            for pool in (relation.id, relation.object_type, "any"):
                pools[pool].add(fact.object)
    for entity in pack.entities.values():
        if entity.id not in held_out:
            pools[entity.type].add(entity.label)
    pools["agent"] |= pools["person"] | pools["organization"]
    return {name: sorted(pool) for name, pool in pools.items()}


def invent(kind: str, rng: random.Random) -> str | None:
    """Invent a value of this kind; None for a type of entity, of which the pack has examples."""
    if kind in GENERATORS:
        return GENERATORS[kind](rng)
    return _pick(kind, rng) if kind in LISTS else None


def _pick(kind: str, rng: random.Random) -> str:
    return rng.choice(LISTS[kind].split("|"))
