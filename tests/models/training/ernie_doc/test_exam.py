"""Answers are result as SQuAD does, and the threshold is the one that grades best."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from models.ernie_doc.loading.checkpoint import Checkpoint
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.answer import Answer, AnswerRule
from models.ernie_doc.reading.packing import Packing
from models.ernie_doc.reading.reader import Reader
from models.ernie_doc.reading.spans import Span, SpanRule
from models.packs.pack import Pack
from models.training.ernie_doc.card import collect, write_card
from models.training.ernie_doc.exam import Outcome, best_threshold, by_kind, exam_texts, examine, normalize
from models.training.ernie_doc.texts import Question, Text, check
from tests.models.training.ernie_doc.tiny import MODEL


def outcome(answer: str | None, reply: str, margin: float) -> Outcome:
    span = Span(margin, 0.0, 0, len(reply), reply, 0)
    question = Question("what?", answer, None, "plain" if answer else "unanswerable")
    return Outcome(question, Answer(reply, None, (span,), False, False))


@pytest.mark.parametrize(
    ("answer", "reply", "exact", "f1"),
    [
        ("the scout group", "Scout Group.", 1.0, 1.0),
        ("612 euros", "612", 0.0, 2 / 3),
        ("Lisbon", "Porto", 0.0, 0.0),
        ("a red red hat", "red hat", 0.0, 0.8),
    ],
)
def test_answers_are_compared_by_their_words(answer: str, reply: str, exact: float, f1: float) -> None:
    result = outcome(answer, reply, 1.0)
    assert result.exact(0.0) == exact
    assert result.f1(0.0) == pytest.approx(f1)


def test_below_the_threshold_nothing_is_answered() -> None:
    assert outcome("Lisbon", "Lisbon", 1.0).exact(2.0) == 0.0
    assert outcome(None, "Lisbon", 1.0).exact(2.0) == 1.0
    assert outcome(None, "Lisbon", 1.0).exact(0.0) == 0.0


def test_words_are_compared_without_case_articles_and_marks() -> None:
    assert normalize("The  Old, old Pump!") == "old old pump"


def test_the_threshold_grades_best() -> None:
    outcomes = [
        outcome("a b", "a b", 3.0),
        outcome("c", "c", 2.0),
        outcome(None, "d", 1.0),
        outcome("e", "f", -1.0),
    ]
    threshold = best_threshold(outcomes)
    assert 1.0 < threshold <= 2.0
    assert by_kind(outcomes, threshold)["plain"] == (3, pytest.approx(200 / 3), pytest.approx(200 / 3))
    assert by_kind(outcomes, threshold)["unanswerable"] == (1, 100.0, 100.0)


def test_an_exam_asks_every_question_with_and_without_memory(tokenizer: Tokenizer, tmp_path: Path) -> None:
    packing = Packing.of(tokenizer, MODEL.segment, 12, 4)
    reader = Reader(Checkpoint(ErnieDoc(MODEL).eval(), "tiny"), packing)
    text = Text(
        "a", "The pump was built in March. " * 9, (Question("When was it built?", "March", 22, "plain"),)
    )
    rule = AnswerRule(SpanRule(4, 50, "margin"), None, 4)
    sides = [examine(reader, [text], tokenizer, rule, uses_memory) for uses_memory in (True, False)]
    assert [len(side) for side in sides] == [1, 1]
    assert sides[0][0].result.spans != sides[1][0].result.spans
    exam = {"written": (sides[0], sides[1])}
    write_card(tmp_path, exam, 0.0, 3600.0)
    figures = json.loads((tmp_path / "measured.json").read_text())
    assert figures.keys() == collect(exam, 0.0).keys() == {"written/with/plain", "written/without/plain"}
    assert "| written | without | plain | 1 |" in (tmp_path / "README.md").read_text()


def test_exams_hold_long_documents_of_their_split(pack: Pack) -> None:
    texts = exam_texts(pack, "test", 1)
    assert {name: len(part) > 0 for name, part in texts.items()} == dict.fromkeys(texts, True)
    assert min(len(text.text) for text in texts["three joined"]) > 8_000
    for text in (text for part in texts.values() for text in part):
        for question in text.questions:
            check(question, text.text, text.title)
