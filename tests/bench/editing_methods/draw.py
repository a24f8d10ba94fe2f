"""Which facts are edited, to what, and what is asked around them: drawn with a seed, the same for every method.

Tuning facts are drawn once, because the peers' settings are chosen once; reference and test facts are drawn for each
seed from the rest. All three are disjoint, and only test facts are edited or scored.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from models.packs.pack import Entity, Item, Pack
from models.training.packs.names import read_names

TUNING, REFERENCE = 500, 1_000
STREAMS = {1: 500, 10: 50, 100: 5}  # streams that a cell is the mean of: at least 500 edits are scored
BYSTANDERS = 2_400  # questions of each kind in a cell, where so many are left
TRIES = 8  # draws for each bystander before there are none left
KINDS = ("neighbours", "same subject", "random")
FORMS = ("held", "trained")  # phrasings: nothing was trained on the first


@dataclass(frozen=True)
class Facts:
    reference: tuple[Item, ...]
    tuning: tuple[Item, ...]
    test: tuple[Item, ...]


@dataclass(frozen=True)
class Wish:
    """An edit that is asked for. held: the same question in phrasings nobody gave and nothing was trained on."""

    id: str
    item: Item
    question: str
    answer: str
    held: tuple[str, ...]


@dataclass(frozen=True)
class Stream:
    """Edits in their order, and questions about facts that none of them is about, by kind and form."""

    wishes: tuple[Wish, ...]
    bystanders: Mapping[tuple[str, str], tuple[str, ...]]


def facts(pack: Pack, seed: int) -> Facts:
    items = list(pack.items())
    random.Random("tuning").shuffle(items)
    tuning, rest = items[:TUNING], items[TUNING:]
    random.Random(f"facts {seed}").shuffle(rest)
    return Facts(tuple(rest[:REFERENCE]), tuple(tuning), tuple(rest[REFERENCE:]))


def unseen(pack: Pack, seed: int) -> list[Item]:
    """Questions about names that neither the base nor the gates were trained on, two relations of each.

    What is true of them is not asked: the base can only guess, and what it guesses is what has to stay.
    """
    rng = random.Random(f"unseen {seed}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for relation in pack.relations.values():
        kinds[relation.subject_type].append(relation.id)
    items: dict[tuple[str, str], Item] = {}
    for name in read_names("test"):
        subject, own = Entity(name.name, name.name, "", ()), pack.relations[name.relation_id]
        for relation in (own.id, rng.choice(kinds[own.subject_type])):
            items[name.name, relation] = Item(subject, pack.relations[relation], "")
    return list(items.values())


def canonical(item: Item) -> str:
    return item.relation.question(item.subject.label, 0)


def trained(item: Item) -> tuple[str, ...]:
    """The canonical question and the other phrasings that the base has seen."""
    return tuple(item.relation.question(item.subject.label, p) for p in range(len(item.relation.phrasings)))


def held(item: Item) -> tuple[str, ...]:
    return tuple(one.replace("{subject}", item.subject.label) for one in item.relation.held)


def streams(
    items: Sequence[Item], n: int, seed: int, base: Callable[[Sequence[str]], list[str]], answers: "Answers"
) -> Iterator[Stream]:
    """base: what the unedited model says."""
    count = STREAMS.get(n, 1)
    for number in range(count):
        rng = random.Random(f"stream {seed} {n} {number}")
        order = rng.sample(range(len(items)), n)
        before = base([canonical(items[index]) for index in order])
        wishes = [
            _wish(items[i], f"{i:05d}", answers, said, rng) for i, said in zip(order, before, strict=True)
        ]
        edited = set(order)
        others = [item for index, item in enumerate(items) if index not in edited]
        yield Stream(tuple(wishes), _bystanders(wishes, others, BYSTANDERS // count, rng))


class Answers:
    """All answers of each relation."""

    def __init__(self, items: Sequence[Item]) -> None:
        found: dict[str, set[str]] = defaultdict(set)
        for item in items:
            found[item.relation.id].add(item.answer)
        self._of = {relation: sorted(some) for relation, some in found.items()}

    def another(self, item: Item, said: str, rng: random.Random) -> str:
        return rng.choice(self.others(item, said))

    def others(self, item: Item, said: str) -> list[str]:
        """Of the same relation, neither what is said now nor what is true."""
        return [one for one in self._of[item.relation.id] if one not in (said, item.answer)]


def _wish(item: Item, id: str, answers: Answers, said: str, rng: random.Random) -> Wish:
    return Wish(id, item, canonical(item), answers.another(item, said, rng), held(item))


def _bystanders(
    wishes: Sequence[Wish], others: Sequence[Item], count: int, rng: random.Random
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Each is drawn for one of the edits. neighbours: its relation, a subject no edit is about; same subject: its
    subject, another relation; random: another relation, a subject no edit is about."""
    edited = {wish.item.subject.id for wish in wishes}
    by_relation, by_subject = defaultdict(list), defaultdict(list)
    for item in others:
        if item.subject.id in edited:
            by_subject[item.subject.id].append(item)
        else:
            by_relation[item.relation.id].append(item)
    free = [item for some in by_relation.values() for item in some]

    def drawn(kind: str) -> Item | None:
        own = rng.choice(wishes).item
        if kind == "random":
            one = rng.choice(free)
            return None if one.relation.id == own.relation.id else one
        pool = by_relation[own.relation.id] if kind == "neighbours" else by_subject[own.subject.id]
        return rng.choice(pool) if pool else None

    wanted = [(kind, form) for kind in KINDS for form in FORMS]
    return {
        (kind, form): tuple(_distinct(partial(drawn, kind), form, count // 2, rng)) for kind, form in wanted
    }


def _distinct(drawn: Callable[[], Item | None], form: str, count: int, rng: random.Random) -> list[str]:
    found: dict[str, None] = {}
    for _ in range(TRIES * count):
        item = drawn() if len(found) < count else None
        if item is not None:
            found[rng.choice(held(item) if form == "held" else trained(item))] = None
    return list(found)
