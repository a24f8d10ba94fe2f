"""A misspelt name is read as the only word of the wordings that it may be a slip for."""

import pytest
import torch

from models.nkb.reader import Reader
from models.scope.judge import Judge
from models.scope.spelling import MIN_CHARS, Lexicon, resembling
from models.scope.wordings import columns as row_index
from models.scope.wordings.block import PackedTokens
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
