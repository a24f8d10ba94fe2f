"""The choice of the clean facts for the pack: known names first, and subjects with many questions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from models.packs.pack import Relation
from models.training.packs.cleaning import MAX_ANSWER_CHARS
from models.training.packs.naming import key
from models.training.packs.raw import RawFact, Source

SEED = 20261121
MAX_ITEMS = 295  # questions of a relation, so that the pack trains in an hour on two cores
MAX_CAPITALS = 325  # capitals of every country, and of regions
MAX_SHARE = 0.35  # share of a relation's items with the same answer


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that could go into the pack, by case-folded subject, with all its answers."""

    subject: str
    relation: str
    answers: tuple[str, ...]
    source: Source


def rank(*parts: str, seed: int = SEED) -> str:
    """Compute a digest of a seed and parts as a sort key: the shuffled order is the same on every machine."""
    return sha256("\x1f".join((str(seed), *parts)).encode()).hexdigest()


def find_candidates(facts: Iterable[RawFact], relations: Mapping[str, Relation]) -> list[Candidate]:
    """Return a candidate for each subject and relation whose sources do not contradict each other."""
    answers: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    sources: dict[tuple[str, str], Source] = {}
    reference: set[str] = set()
    for fact in sorted(facts, key=lambda fact: fact.source):
        if fact.source == Source.REFERENCE:
            reference.add(key(fact.subject))
        elif fact.source == Source.ENTITYQUESTIONS and key(fact.subject) in reference:
            continue  # the name of a country or an element, used for an unknown thing
        question = key(fact.subject), fact.relation
        if sources.setdefault(question, fact.source) == Source.REFERENCE != fact.source:
            continue
        answers[question].setdefault(key(fact.object), fact.object)
    return [
        Candidate(subject, relation, tuple(spellings.values()), sources[subject, relation])
        for (subject, relation), spellings in answers.items()
        if _is_clear(list(spellings.values()), relations[relation])
    ]


def select(
    candidates: Iterable[Candidate], limits_by_relation: Mapping[str, int] | None = None
) -> list[Candidate]:
    """Select items of each relation in a seeded order, at most MAX_ITEMS without another limit."""
    limits = {"capital": MAX_CAPITALS} | dict(limits_by_relation or {})
    by_relation: dict[str, list[Candidate]] = defaultdict(list)
    shares: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for candidate in _rank_candidates(candidates):
        limit = limits.get(candidate.relation, MAX_ITEMS)
        answer = candidate.relation, candidate.answers
        room = len(by_relation[candidate.relation]) < limit and shares[answer] < int(MAX_SHARE * limit)
        if room:
            by_relation[candidate.relation].append(candidate)
            shares[answer] += 1
    return [candidate for items in by_relation.values() for candidate in _without_surplus(items)]


def _is_clear(answers: list[str], relation: Relation) -> bool:
    if relation.cardinality == "many":
        return len(", ".join(answers)) <= MAX_ANSWER_CHARS
    return len(answers) == 1


def _rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Rank reference works first, then subjects with several relations (Wikidata's first), then the rest."""
    by_subject: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_subject[candidate.subject].append(candidate)

    def place(subject: str) -> tuple[bool, bool, Source, str]:
        source = min(candidate.source for candidate in by_subject[subject])
        return source != Source.REFERENCE, len(by_subject[subject]) < 2, source, rank(subject)

    return [
        candidate
        for subject in sorted(by_subject, key=place)
        for candidate in sorted(by_subject[subject], key=lambda candidate: candidate.relation)
    ]


def _without_surplus(items: list[Candidate]) -> list[Candidate]:
    """Drop the last items of an answer that more than MAX_SHARE of them have."""
    items = list(items)
    while items:
        answer, count = Counter(item.answers for item in items).most_common(1)[0]
        if count <= MAX_SHARE * len(items) or items[0].source == Source.REFERENCE:
            return items
        last = max(place for place, item in enumerate(items) if item.answers == answer)
        del items[last]
    return items
