"""The facts that the pack holds: those with one clear name and one clear answer, known names first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from re import findall

from more_itertools import map_reduce

from models.packs.pack import ALIAS_SEPARATOR, Relation
from models.training.packs.naming import key
from models.training.packs.sources import BY_HAND, RawFact, Source

SEED = 20261121
MAX_ITEMS = 295  # questions of a relation, so that the pack trains in an hour on two cores
MAX_CAPITALS = 325  # capitals of every country, and of regions
MAX_SHARE = 0.35  # share of a relation's items with the same answer
MAX_LABEL_CHARS = 40
MAX_ANSWER_CHARS = 80
SELF_ANSWERING = "capital"  # relation with its subject as an answer: Luxembourg is the capital of Luxembourg

ALIASES: dict[str, list[str]] = BY_HAND["aliases"]
CANONICAL = {key(alias): label for label, aliases in ALIASES.items() for alias in aliases}


def words(text: str) -> tuple[str, ...]:
    return tuple(findall(r"\w+", text.casefold()))


SMALL_WORDS = frozenset(
    words("a an and as at be but he her him his how i if it me my no not or our s she so them they up us we")
)


def words_of_templates(relations: Mapping[str, Relation]) -> frozenset[str]:
    """Return the words of the templates: a label made of them alone would be found in every question."""
    templates = (t for relation in relations.values() for t in relation.phrasings + relation.held_out)
    return SMALL_WORDS.union(*(words(template.replace("{subject}", "")) for template in templates))


def canonical(fact: RawFact) -> RawFact:
    """Replace each alias of the fact by the label that it stands for."""
    subject = CANONICAL.get(key(fact.subject), fact.subject)
    answer = CANONICAL.get(key(fact.object), fact.object)
    return replace(fact, subject=subject, object=answer)


def is_label(text: str, min_chars: int = 2) -> bool:
    fits = min_chars <= len(text) <= MAX_LABEL_CHARS and text == text.strip() and text.isprintable()
    return fits and ALIAS_SEPARATOR.strip() not in text and not set("{(") & set(text)


def is_askable(fact: RawFact, question_words: frozenset[str]) -> bool:
    if not (is_label(fact.subject) and is_label(fact.object, min_chars=1)):
        return False
    if fact.source == Source.REFERENCE:
        return True
    has_own_words = all(
        words(label) and not question_words.issuperset(words(label)) for label in (fact.subject, fact.object)
    )
    if fact.subject.isalpha() and fact.subject.islower():
        return False  # "honey", "red" and "history" are words, which a text uses without meaning the entity
    return has_own_words and (key(fact.subject) != key(fact.object) or fact.relation == SELF_ANSWERING)


def without_homonyms(facts: Iterable[RawFact], relations: Mapping[str, Relation]) -> list[RawFact]:
    """Leave out the subjects of EntityQuestions that have two values for a relation that can hold one.

    Two places of birth are a sign of two people of one name, so no other fact about that name is believed.
    """
    facts = list(facts)
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        if fact.source == Source.ENTITYQUESTIONS and relations[fact.relation].cardinality == "one":
            answers[key(fact.subject), fact.relation].add(key(fact.object))
    doubtful = {subject for (subject, _), objects in answers.items() if len(objects) > 1}
    return [f for f in facts if f.source != Source.ENTITYQUESTIONS or key(f.subject) not in doubtful]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that could go into the pack, by case-folded subject, with all its answers."""

    subject: str
    relation: str
    answers: tuple[str, ...]
    source: Source


def rank(*parts: str) -> str:
    """Compute a digest of the seed and parts as a sort key: the shuffled order is the same on every machine."""
    return sha256("\x1f".join((str(SEED), *parts)).encode()).hexdigest()


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


def select(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Select items of each relation in a seeded order, at most MAX_ITEMS, or MAX_CAPITALS."""
    by_relation: dict[str, list[Candidate]] = defaultdict(list)
    shares: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for candidate in _rank_candidates(candidates):
        limit = MAX_CAPITALS if candidate.relation == "capital" else MAX_ITEMS
        items, answer = by_relation[candidate.relation], (candidate.relation, candidate.answers)
        if len(items) < limit and shares[answer] < int(MAX_SHARE * limit):
            items.append(candidate)
            shares[answer] += 1
    return [candidate for items in by_relation.values() for candidate in _without_surplus(items)]


def _is_clear(answers: list[str], relation: Relation) -> bool:
    if relation.cardinality == "many":
        return len(", ".join(answers)) <= MAX_ANSWER_CHARS
    return len(answers) == 1


def _rank_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Rank reference works first, then subjects with several relations (Wikidata's first), then the rest."""
    by_subject = map_reduce(candidates, lambda candidate: candidate.subject)

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
    while items:
        answer, count = Counter(item.answers for item in items).most_common(1)[0]
        if count <= MAX_SHARE * len(items) or items[0].source == Source.REFERENCE:
            return items
        last = max(place for place, item in enumerate(items) if item.answers == answer)
        del items[last]
    return items
