"""A misspelt name is read as the only word of the wordings that it may be a slip for.

A slip is told from another name by how the words differ, and how usual their letters are.
A curator is warned where a wording may not be followed or may go too far, and not otherwise.
"""

import re

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope.judge import Judge
from models.scope.languages import is_in_another_language
from models.scope.spelling import MIN_CHARS, Lexicon, resembling
from models.scope.warnings import wording_warnings
from models.scope.wordings import row_index
from models.scope.wordings.packed_tokens import PackedTokens
from models.scope.wordings.slips import KINDS, NO_SLIPS, Slips, find_kind
from tests.models.scope.wordings import block, view

MOTTO = "What is the motto of Gundebrand?"


@pytest.fixture
def lexicon(reader: Reader) -> Lexicon:
    judge: Judge = reader.scope.judge
    lexicon = Lexicon(judge.tokenizer, judge.slips)
    texts = [MOTTO, "Who founded Elisenhof?", "Who founded Elisanhof?", "Who leads Karolin?"]
    lexicon.add(PackedTokens.of([judge.tokens(text) for text in texts]), 0)
    return lexicon


def repair(reader: Reader, lexicon: Lexicon, question: str, *rows: int) -> str | None:
    is_read = torch.zeros(4, dtype=torch.bool)
    is_read[list(rows)] = True
    return lexicon.repair(reader.scope.judge.tokens(question), is_read)


@pytest.mark.parametrize("name", ["Gundbrand", "Gunndebrand", "Gumdebrand", "Gundeband", "Gudnebrand"])
def test_one_slip_is_put_right(reader: Reader, lexicon: Lexicon, name: str) -> None:
    assert repair(reader, lexicon, f"{name}'s motto?", 0) == "gundebrand ' s motto ?"


def test_what_is_right_or_means_nobody_stays(reader: Reader, lexicon: Lexicon) -> None:
    assert repair(reader, lexicon, MOTTO, 0) is None
    assert repair(reader, lexicon, "What is the motto of Sundehrand?", 0) is None, "two slips"
    assert repair(reader, lexicon, "What is the motto of Gundbrand?", 1) is None, (
        "no wording has the word here"
    )


def test_a_repair_depends_on_the_wordings_that_have_the_word_or_a_resembling_one(
    reader: Reader, lexicon: Lexicon
) -> None:
    questions = [MOTTO, "Gundbrand's motto?", "Who leads Karolin?", "What is it?"]
    tokens, motto = map(reader.scope.judge.tokens, questions), reader.scope.judge.tokens(MOTTO)
    assert lexicon.find_dependent([*tokens], [motto]).tolist() == [True, True, False, False]


def test_another_first_letter_is_another_name(reader: Reader, lexicon: Lexicon) -> None:
    assert repair(reader, lexicon, "What is the motto of Sundebrand?", 0) is None


def test_a_word_that_may_be_two_stays(reader: Reader, lexicon: Lexicon) -> None:
    assert repair(reader, lexicon, "Who founded Elisnhof?", 1, 2) is None
    assert repair(reader, lexicon, "Who founded Elisnhof?", 1) == "who founded elisenhof ?"
    assert repair(reader, lexicon, "Who founded Elisanhof?", 1, 2) is None, "another wording has it"


def test_a_common_word_is_meant(reader: Reader, lexicon: Lexicon) -> None:
    assert repair(reader, lexicon, "Who leads Caroline?", 3) is None


def test_the_edit_answers_in_spite_of_a_slip(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, MOTTO), block(reader, "b", 2, "What is the motto of Halden?"))
    readings = reader.read(["What is the motto of Gundbrand?", "What is the motto of Vossberg?"]).readings
    match, other = reader.scope.route(readings, [edits, edits])
    assert match is not None
    assert match.edit == "a"
    assert match.probability <= reader.scope.judge.calibration.slip
    assert other is None


def test_words_are_found_whether_they_are_sorted_yet_or_not(
    reader: Reader, lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_index, "MAX_RECENT", 2)
    lexicon.add(PackedTokens.of([reader.scope.judge.tokens("Who leads Vossbergen and Tannhofen?")]), 4)
    is_read = torch.ones(5, dtype=torch.bool)
    for slip, name in {
        "Gundbrand": "gundebrand",
        "Vosbergen": "vossbergen",
        "Tannhoffen": "tannhofen",
    }.items():
        question = reader.scope.judge.tokens(f"Who leads {slip}?")
        assert lexicon.repair(question, is_read) == f"who leads {name} ?"
        assert lexicon.repair(question, is_read[:0]) is None


def test_short_names_resemble_none() -> None:
    assert list(resembling("x" * (MIN_CHARS - 1))) == []


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge.load(MiniLM())


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("dlaford", "swap"),
        ("dallford", "double"),
        ("dalfrd", "omission"),
        ("daltford", "addition"),
        ("dalferd", "vowel"),
        ("dalfort", "consonant"),
        ("dalfoad", "other"),
        ("dalfords", "addition"),
        ("dalfor", "omission"),
    ],
)
def test_the_kind_of_a_difference(word: str, kind: str) -> None:
    assert find_kind(word, "dalford") == kind
    assert kind in KINDS


@pytest.mark.parametrize(
    ("word", "name", "expected"),
    [
        ("gudnebrand", "gundebrand", True),
        ("gunndebrand", "gundebrand", True),
        ("gundebrnd", "gundebrand", True),
        ("gundebrqnd", "gundebrand", True),
        ("dalferd", "dalford", False),
        ("walford", "dalford", False),
        ("elisenhof", "elisanhof", False),
        ("marinas", "marina", False),
    ],
)
def test_what_is_a_slip(judge: Judge, word: str, name: str, expected: bool) -> None:
    assert judge.slips.is_slip(word, name) is expected


def test_without_learned_weights_no_word_is_one(judge: Judge) -> None:
    assert not Slips(judge.tokenizer, NO_SLIPS).is_slip("gudnebrand", "gundebrand")


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
