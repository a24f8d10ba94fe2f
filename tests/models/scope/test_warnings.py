"""A curator is warned where a wording may not be followed or may go too far, and not otherwise."""

import re

import pytest

from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope.literals import is_in_another_language
from models.scope.warnings import wording_warnings


def warn(reader: Reader, *wordings: str) -> list[str]:
    return list(wording_warnings(reader.scope, wordings, reader.read(wordings).readings))


def test_nothing_is_heard_of_a_plain_question_in_several_words(reader: Reader) -> None:
    assert (
        warn(reader, "What is the capital of Peru?", "Peru's capital?", "Tell me the capital city of Peru.")
        == []
    )


@pytest.mark.parametrize(
    "other", ["What is the capital of Chile?", "What is the currency of Peru?", "Who wrote Hamlet?"]
)
def test_a_paraphrase_that_asks_for_something_else_is_named(reader: Reader, other: str) -> None:
    sentences = warn(reader, "What is the capital of Peru?", "Peru's capital?", other)
    assert len(sentences) == 1
    beginning = f"{other!r} is judged another question than 'What is the capital of Peru?'"
    assert sentences[0].startswith(beginning)
    assert re.fullmatch(
        r" \(\d+ % likely the same\): it and questions like it .+", sentences[0].removeprefix(beginning)
    )


@pytest.mark.parametrize(
    "question",
    [
        "Was ist die Hauptstadt von Peru?",
        "Quelle est la capitale du Pérou ?",
        "¿Cuál es la capital de Perú?",
        "Qual è la capitale del Perù?",
        "Qual é a capital do estado de Goiás em 1930, e o nome do rio?",
        "Wat is de hoofdstad van het land?",
        "Jaka jest stolica Peru?",
    ],
)
def test_another_language_is_told(reader: Reader, question: str) -> None:
    assert "does not read like English" in warn(reader, question)[0]


@pytest.mark.parametrize(
    "question",
    [
        "Capital of Pays de la Loire?",
        "Who wrote Der Tod in Venedig?",
        "What is La La Land?",
        "Le Monde's owner?",
    ],
)
def test_foreign_names_in_an_english_question_are_no_other_language(question: str) -> None:
    assert not is_in_another_language(question)


def test_hardly_a_question_of_the_pack_passes_for_foreign() -> None:
    questions = [
        phrasing.replace("{subject}", item.subject.label)
        for item in Pack.load().items()
        for phrasing in (item.relation.phrasings[0], *item.relation.held_out)
    ]
    assert sum(map(is_in_another_language, questions)) < 0.001 * len(questions)


def test_another_script_is_told(reader: Reader) -> None:
    assert "word for word" in warn(reader, "中国的首都是什么？")[0]
