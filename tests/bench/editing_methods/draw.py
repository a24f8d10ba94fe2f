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
TRIES = 8  # draws for each bystander before there are none left
KINDS = ("neighbours", "same subject", "random")
FORMS = ("held", "trained")  # phrasings: nothing was trained on the first


@dataclass(frozen=True)
class Sample:
    """How much a cell scores."""

    name: str
    # Streams that a cell is the mean of, by number of edits; one for other numbers
    streams: Mapping[int, int]
    bystanders: int  # questions of each kind, where so many are left
    all_forms: int  # edits up to which every paraphrase is asked; beyond, one for each edit
    remade: int  # edits up to which half of them are made anew, to compare bits


FULL = Sample("full", {1: 500, 10: 50, 100: 5}, 2_400, 1_000, 1_000)
SMALL = Sample("small", {1: 100, 10: 10}, 300, 100, 100)
SAMPLES = {sample.name: sample for sample in (FULL, SMALL)}


@dataclass(frozen=True)
class Facts:
    reference: tuple[Item, ...]
    tuning: tuple[Item, ...]
    test: tuple[Item, ...]


@dataclass(frozen=True)
class EditRequest:
    """An edit that is asked for."""

    id: str
    question: str
    answer: str
    # The same question in other words, which the edit is not given and nothing was trained on
    paraphrases: tuple[str, ...]


@dataclass(frozen=True)
class Stream:
    """Edits in their order, and questions about facts that none of them is about, by kind and form."""

    requests: tuple[EditRequest, ...]
    bystanders: Mapping[tuple[str, str], tuple[str, ...]]


def split_facts(pack: Pack, seed: int) -> Facts:
    items = list(pack.items())
    random.Random("tuning").shuffle(items)
    tuning, rest = items[:TUNING], items[TUNING:]
    random.Random(f"facts {seed}").shuffle(rest)
    return Facts(tuple(rest[:REFERENCE]), tuple(tuning), tuple(rest[REFERENCE:]))


def draw_unseen_items(pack: Pack, seed: int) -> list[Item]:
    """Questions about names that neither the base nor the gates were trained on, two relations of each.

    What is true of them is not asked: the base can only guess, and what it guesses is what has to stay.
    """
    rng = random.Random(f"unseen {seed}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for relation in pack.relations.values():
        kinds[relation.subject_type].append(relation.id)
    items: dict[tuple[str, str], Item] = {}
    for name in read_names("test"):
        subject, name_relation = Entity(name.name, name.name, "", ()), pack.relations[name.relation_id]
        for relation in (name_relation.id, rng.choice(kinds[name_relation.subject_type])):
            items[name.name, relation] = Item(subject, pack.relations[relation], "")
    return list(items.values())


def canonical_question(item: Item) -> str:
    return item.relation.question(item.subject.label, 0)


def trained_phrasings(item: Item) -> tuple[str, ...]:
    """The canonical question and the other phrasings that the base has seen."""
    return tuple(item.relation.question(item.subject.label, p) for p in range(len(item.relation.phrasings)))


def held_out_phrasings(item: Item) -> tuple[str, ...]:
    return tuple(phrasing.replace("{subject}", item.subject.label) for phrasing in item.relation.held_out)


def draw_streams(
    items: Sequence[Item],
    n: int,
    seed: int,
    base: Callable[[Sequence[str]], list[str]],
    answers: "Answers",
    sample: Sample = FULL,
) -> Iterator[Stream]:
    """base: what the unedited model says."""
    count = sample.streams.get(n, 1)
    for number in range(count):
        rng = random.Random(f"stream {seed} {n} {number}")
        order = rng.sample(range(len(items)), n)
        before = base([canonical_question(items[index]) for index in order])
        requests = [
            draw_request(items[i], f"{i:05d}", answers, base_answer, rng)
            for i, base_answer in zip(order, before, strict=True)
        ]
        edited_indices = set(order)
        edited_items = [items[index] for index in order]
        unedited_items = [item for index, item in enumerate(items) if index not in edited_indices]
        yield Stream(
            tuple(requests), _draw_bystanders(edited_items, unedited_items, sample.bystanders // count, rng)
        )


class Answers:
    """All answers of each relation."""

    def __init__(self, items: Sequence[Item]) -> None:
        answers_by_relation: dict[str, set[str]] = defaultdict(set)
        for item in items:
            answers_by_relation[item.relation.id].add(item.answer)
        self._by_relation = {relation: sorted(answers) for relation, answers in answers_by_relation.items()}

    def draw(self, item: Item, base_answer: str, rng: random.Random) -> str:
        return rng.choice(self.alternatives(item, base_answer))

    def alternatives(self, item: Item, base_answer: str) -> list[str]:
        """Draw an answer of the same relation that is neither the present nor the true one."""
        return [
            answer
            for answer in self._by_relation[item.relation.id]
            if answer not in (base_answer, item.answer)
        ]


def draw_request(item: Item, id: str, answers: Answers, base_answer: str, rng: random.Random) -> EditRequest:
    """Draw an edit that gives the item's question another answer than the base does."""
    answer = answers.draw(item, base_answer, rng)
    return EditRequest(id, canonical_question(item), answer, held_out_phrasings(item))


def _draw_bystanders(
    edited_items: Sequence[Item], items: Sequence[Item], count: int, rng: random.Random
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Draw bystanders, each for one of the edits.

    Neighbours have its relation and an unedited subject; same subject: its subject and another relation; random:
    another relation and an unedited subject.
    """
    edited_subjects = {item.subject.id for item in edited_items}
    by_relation, by_subject = defaultdict(list), defaultdict(list)
    for item in items:
        if item.subject.id in edited_subjects:
            by_subject[item.subject.id].append(item)
        else:
            by_relation[item.relation.id].append(item)
    free = [item for pool in by_relation.values() for item in pool]

    def draw_item(kind: str) -> Item | None:
        edited_item = rng.choice(edited_items)
        if kind == "random":
            item = rng.choice(free)
            return None if item.relation.id == edited_item.relation.id else item
        relation, subject = edited_item.relation.id, edited_item.subject.id
        pool = by_relation[relation] if kind == "neighbours" else by_subject[subject]
        return rng.choice(pool) if pool else None

    return {
        (kind, form): tuple(_draw_distinct(partial(draw_item, kind), form, count // 2, rng))
        for kind in KINDS
        for form in FORMS
    }


def _draw_distinct(
    draw_item: Callable[[], Item | None], form: str, count: int, rng: random.Random
) -> list[str]:
    questions: dict[str, None] = {}
    for _ in range(TRIES * count):
        item = draw_item() if len(questions) < count else None
        if item is not None:
            phrasings = held_out_phrasings(item) if form == "held" else trained_phrasings(item)
            questions[rng.choice(phrasings)] = None
    return list(questions)
