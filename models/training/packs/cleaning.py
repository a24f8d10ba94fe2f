"""The facts that can be asked about: those with one clear name and one clear answer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from re import findall

from models.packs.pack import ALIAS_SEPARATOR, Relation
from models.training.packs import countries, elements
from models.training.packs.naming import key
from models.training.packs.raw import RawFact, Source

MAX_LABEL_CHARS = 40
MAX_ANSWER_CHARS = 80
SELF_ANSWERING = "capital"  # relation with its subject as an answer: Luxembourg is the capital of Luxembourg

ALIASES: dict[str, tuple[str, ...]] = {**countries.NAMES["aliases"], **elements.ALIASES}
CANONICAL = {key(alias): label for label, aliases in ALIASES.items() for alias in aliases}


def words(text: str) -> tuple[str, ...]:
    return tuple(findall(r"\w+", text.casefold()))


SMALL_WORDS = frozenset(
    words("a an and as at be but he her him his how i if it me my no not or our s she so them they up us we")
)


def words_of_templates(relations: Mapping[str, Relation]) -> set[str]:
    """Return the words of the templates: a label made of them alone would be found in every question."""
    question_words = set(SMALL_WORDS)
    for relation in relations.values():
        for template in relation.phrasings + relation.held_out:
            question_words.update(words(template.replace("{subject}", "")))
    return question_words


def canonical(fact: RawFact) -> RawFact:
    """Replace each alias of the fact by the label that it stands for."""
    subject = CANONICAL.get(key(fact.subject), fact.subject)
    answer = CANONICAL.get(key(fact.object), fact.object)
    return replace(fact, subject=subject, object=answer)


def is_label(text: str, min_chars: int = 2) -> bool:
    fits = min_chars <= len(text) <= MAX_LABEL_CHARS and text == text.strip() and text.isprintable()
    return fits and ALIAS_SEPARATOR.strip() not in text and not set("{(") & set(text)


def is_askable(fact: RawFact, question_words: set[str]) -> bool:
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
