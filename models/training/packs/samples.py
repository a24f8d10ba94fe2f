"""Samples of the pack and of the facts outside of it: strangers, gates' names, and the probe set."""

from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

from more_itertools import map_reduce

from models.packs.pack import Item, Probe, UnknownEntity
from models.training.packs.names import Half, Name
from models.training.packs.naming import key
from models.training.packs.selection import is_label, rank, words
from models.training.packs.sources import RawFact, Source

MAX_STRANGERS = 1500
MAX_NAME_CHARS = 60
NAMES_PER_RELATION: dict[Half, int] = {"train": 350, "test": 500}
N_PROBES = 200


class NameSpans:
    """Tells whether a name, word for word, holds a name of the pack or is part of one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {words(name) for name in names} - {()}
        self._parts = {span for name in self._names for span in _spans(name)}

    def touches(self, label: str) -> bool:
        label_words = words(label)
        return label_words in self._parts or any(span in self._names for span in _spans(label_words))


def draw_strangers(
    facts: Iterable[RawFact], names: Iterable[str], question_words: frozenset[str]
) -> list[UnknownEntity]:
    """Draw names that the pack does not hold, to test a model on questions that it should decline.

    Each relation has equally many, half for tuning and half for testing; each name occurs once.
    """
    spans = NameSpans(names)
    by_relation: dict[str, dict[str, str]] = defaultdict(dict)
    for fact in facts:
        label = fact.subject
        is_strange = (
            is_label(label)
            and bool(words(label))
            and not question_words.issuperset(words(label))
            and not spans.touches(label)
        )
        if fact.source == Source.ENTITYQUESTIONS and is_strange:
            by_relation[fact.relation].setdefault(key(label), label)
    share = MAX_STRANGERS // max(len(by_relation), 1) // 2 * 2
    used_labels: set[str] = set()
    strangers: list[UnknownEntity] = []
    for relation, labels in sorted(by_relation.items()):
        free_labels = (label for label in labels if label not in used_labels)
        sample = sorted(free_labels, key=lambda label: rank(relation, label))[:share]
        used_labels.update(sample)
        for place, label in enumerate(sample):
            strangers.append(UnknownEntity(labels[label], relation, "tune" if place % 2 == 0 else "test"))
    return sorted(strangers, key=lambda stranger: (stranger.relation_id, stranger.subject))


def draw_names(facts: Iterable[RawFact], pack_names: Iterable[str]) -> list[Name]:
    """Draw names that the pack does not hold, equally many of each relation, sorted by relation and name."""
    pack_keys = {key(name) for name in pack_names}
    by_group: dict[tuple[str, Half], dict[str, str]] = defaultdict(dict)
    for fact in facts:
        name = fact.subject
        if is_label(name) and len(name) <= MAX_NAME_CHARS and key(name) not in pack_keys:
            half: Half = "test" if sha256(key(name).encode()).digest()[0] % 4 == 0 else "train"
            by_group[fact.relation, half].setdefault(key(name), name)
    names = [
        Name(name, relation, half)
        for (relation, half), group in by_group.items()
        for name in sorted(group.values(), key=lambda name: rank(relation, name))[: NAMES_PER_RELATION[half]]
    ]
    return sorted(names, key=lambda name: (name.relation_id, name.name))


def draw_probes(items: Iterable[Item]) -> list[Probe]:
    """Draw the questions on which side effects are measured, round robin over relations, in a trained phrasing."""
    by_relation = map_reduce(items, lambda item: item.relation.id)
    for relation, relation_items in by_relation.items():
        relation_items.sort(key=lambda item: rank("probe", relation, item.subject.id))
    rounds = [
        (place, rank("probe", relation), relation_items[place])
        for relation, relation_items in by_relation.items()
        for place in range(min(len(relation_items), N_PROBES))
    ]
    sample = [item for _, _, item in sorted(rounds, key=lambda entry: entry[:2])[:N_PROBES]]
    probes = []
    for item in sorted(sample, key=lambda item: (item.relation.id, item.subject.id)):
        n_phrasings = len(item.relation.phrasings)
        phrasing = int(rank("phrasing", item.relation.id, item.subject.id), 16) % n_phrasings
        question = item.relation.question(item.subject.label, phrasing)
        probes.append(Probe(question, item.relation.id, item.answer, item.subject.id))
    return probes


def _spans(name: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return (name[start:end] for start in range(len(name)) for end in range(start + 1, len(name) + 1))
