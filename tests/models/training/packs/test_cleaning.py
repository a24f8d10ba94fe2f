"""Which facts can be asked about."""

import pytest

from models.packs.pack import Relation
from models.training.packs.cleaning import canonical, is_askable, is_label, template_words, without_homonyms
from models.training.packs.raw import RawFact, Source

Relations = dict[str, Relation]


def fact(subject: str, relation: str, answer: str, source: Source = Source.ENTITYQUESTIONS) -> RawFact:
    return RawFact(subject, relation, answer, source)


@pytest.mark.parametrize("text", ["", "x", "a" * 41, "a\tb", " a b", "a | b", "Emma (novel)", "{subject}"])
def test_what_cannot_stand_in_a_question_is_no_label(text: str) -> None:
    assert not is_label(text)


@pytest.mark.parametrize("text", ["U2", 'The "Great" Escape', "Åland", "李白", "a" * 40])
def test_an_ordinary_name_is_a_label(text: str) -> None:
    assert is_label(text)


def test_a_title_made_of_the_words_of_the_questions_is_not_asked_about(relations: Relations) -> None:
    spoken = template_words(relations)
    assert not is_askable(fact("The Capital", "author", "Anna Berg"), spoken)
    assert is_askable(fact("The Silver Capital", "author", "Anna Berg"), spoken)


def test_a_common_noun_is_not_asked_about(relations: Relations) -> None:
    assert not is_askable(fact("honey", "author", "Anna Berg"), template_words(relations))


def test_only_a_capital_may_have_the_name_of_its_country(relations: Relations) -> None:
    spoken = template_words(relations)
    assert is_askable(fact("Luxembourg", "capital", "Luxembourg"), spoken)
    assert not is_askable(fact("Emma", "author", "emma"), spoken)


def test_an_alias_becomes_the_label_on_both_sides() -> None:
    assert canonical(fact("Burma", "neighbours", "People's Republic of China")) == fact(
        "Myanmar", "neighbours", "China"
    )


def test_two_places_of_birth_are_two_people_so_nothing_about_the_name_is_believed(
    relations: Relations,
) -> None:
    facts = [
        fact("John Morgan", "place_of_birth", "Cardiff"),
        fact("john morgan", "place_of_birth", "Swansea"),
        fact("John Morgan", "author", "Anna Berg"),
        fact("Mary Morgan", "place_of_birth", "Cardiff"),
    ]
    assert without_homonyms(facts, relations) == facts[3:]


def test_a_spelling_in_other_case_is_no_second_answer(relations: Relations) -> None:
    facts = [fact("Emma", "author", "Anna Berg"), fact("Emma", "author", "ANNA BERG")]
    assert without_homonyms(facts, relations) == facts
