"""Every name in a question has to stand in the wording that a gate was made of."""

import pytest

from models.packs.pack import Pack
from models.scope.literals import MAX_WORDS, covers_names, encode_words


def is_about(wording: str, question: str) -> bool:
    return bool(covers_names(encode_words([wording]), encode_words([question])))


@pytest.mark.parametrize(
    "question",
    [
        "Who leads Project Falcon Lite?",
        "Who leads New Project Falcon?",
        "Project Falcon is led by whom, and Project Condor?",
        "who leads project falcon 2b?",
        "Who leads Project Falcon II?",
        "who leads project falcon iii",
    ],
)
def test_a_question_that_names_more_is_about_something_else(question: str) -> None:
    assert not is_about("Who leads Project Falcon?", question)
    assert is_about(question, "Who leads Project Falcon?")


@pytest.mark.parametrize(
    ("wording", "other"),
    [
        ("Who is Carl Menger?", "Who is Karl Menger?"),
        ("Who developed Apple A8?", "who developed apple a8x?"),
        ("What position does Callixtus II hold?", "What position does callixtus iii hold?"),
        ("Who was the wife of Henry IV?", "Who was the wife of Henry VI?"),
    ],
)
def test_nearly_the_same_name_is_another(wording: str, other: str) -> None:
    assert not is_about(wording, other)
    assert is_about(other, other)


@pytest.mark.parametrize(
    "question",
    [
        "Falcon's leader?",
        "who leads PROJECT FALCON, please?",
        "Who Leads The Project Falcon Team?",
        "WHO LEADS PROJECT FALCON LITE?",
        "Please tell me: Who leads Project Falcon?",
        "I have a question. Does Project Falcon have a CEO?",
        "Who leads Sir Falcon's project?",
        "Who leads Project Fálcon?",
        "Who leads Project Faclon?",
        "Can I tell who leads Project Falcon?",
        "Wer ist der Leiter von Project Falcon?",
        "",
    ],
)
def test_other_words_for_it_are_not(question: str) -> None:
    assert is_about("Who leads Project Falcon?", question)


def test_a_wording_of_very_many_words_restricts_nothing() -> None:
    words = " ".join(f"word{chr(97 + n)}" for n in range(26)) + " and so on about nobody"
    assert not is_about("Is it so?", "Is it about Falcon?")
    assert is_about(f"{words} more of them", "Is it about Falcon?")
    assert len(encode_words([f"{words} more of them"])[0]) == MAX_WORDS


def test_what_was_made_before_names_were_compared_restricts_nothing() -> None:
    assert bool(covers_names(encode_words([""]), encode_words(["Who leads Project Falcon?"])))


def test_hardly_a_wording_of_the_pack_names_what_another_of_its_fact_does_not() -> None:
    pairs = [
        (item.relation.question(item.subject.label), template.replace("{subject}", item.subject.label))
        for item in list(Pack.load().items())[::7]
        for template in item.relation.held_out
    ]
    canonical, other = (encode_words(questions) for questions in zip(*pairs, strict=True))
    assert (
        sum(
            (~covers_names(canonical[at : at + 999], other[at : at + 999])).sum()
            for at in range(0, len(canonical), 999)
        )
        == 0
    )
