"""A question's other wordings: its relation's where it is known, else by rules of English."""

import pytest

from models.packs.pack import Pack
from service.measuring.rewording import MOST, Rewording
from service.measuring.wording import plain

REWORDING = Rewording(Pack.load().relations.values())


def test_a_question_of_a_known_relation_is_worded_as_the_relation_is() -> None:
    capital = Pack.load().relations["capital"]
    found = REWORDING.of("what is the capital of Peru")
    assert set(found) <= {t.replace("{subject}", "Peru") for t in (*capital.held, *capital.phrasings)}
    assert len(found) == MOST
    assert [t.replace("{subject}", "Peru") for t in capital.held] == found[:3]


@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("What is the refund period of plan B?", "plan B's refund period?"),
        ("Who was the first king of Ruritania?", "Tell me the first king of Ruritania."),
        ("What is Ruritania's oldest treaty?", "The oldest treaty of Ruritania?"),
        ("When does the canteen open?", "Please tell me: when does the canteen open?"),
        ("What is the roof of the hall made of?", "I have a question: what is the roof of the hall made of?"),
    ],
)
def test_any_other_question_is_turned_by_rules(question: str, wording: str) -> None:
    assert wording in REWORDING.of(question)


@pytest.mark.parametrize(
    "question", ["capital of Peru", "Peru", "Who wrote Hamlet?", "¿Qué?", "x" * 500, "?"]
)
def test_no_wording_is_the_question_or_one_that_was_given(question: str) -> None:
    given = REWORDING.of(question)[:2]
    again = REWORDING.of(question, given)
    assert not {plain(w) for w in again} & {plain(question), *map(plain, given)}
    assert len(again) == len(set(map(plain, again)))


def test_names_with_signs_of_their_own_are_kept_to_the_letter() -> None:
    assert all(
        "$uga(r)? [x]" in wording for wording in REWORDING.of("What is the occupation of $uga(r)? [x]?")
    )
