"""Answers are graded as SQuAD does, and the scale of confidence is fitted on graded ones."""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from models.confidence import Confidence
from models.ernie_doc.answer import AnswerRule
from models.ernie_doc.checkpoint import Checkpoint
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Reader
from models.packs.pack import WORLD
from models.reading.confidence import NO_SCALE
from models.reading.spans import Span, SpanRule
from models.training.ernie_doc import training
from models.training.ernie_doc.exam import LONGEST, READINGS, Exam, readings_of
from models.training.kit.run import Run
from models.training.reading.calibrate import calibrate
from models.training.reading.outcomes import Outcome, by_kind
from models.training.reading.written.texts import Question, Text
from tests.models.ernie_doc.documents import chooser
from tests.models.training import toys
from tests.models.training.toys import ERNIE_DOC as PLAN


def scale(threshold: float) -> Confidence:
    return replace(NO_SCALE, threshold=threshold)


def outcome(answer: str | None, reply: str, margin: float) -> Outcome:
    span = Span(margin, 0.0, 0, len(reply), reply, 0)
    question = Question("what?", answer, None, "plain" if answer else "unanswerable")
    return Outcome(question, (span,), 1)


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
    assert result.exact(scale(0.0)) == exact
    assert result.f1(scale(0.0)) == pytest.approx(f1)


def test_below_the_threshold_nothing_is_answered() -> None:
    assert outcome("Lisbon", "Lisbon", 1.0).exact(scale(0.9)) == 0.0
    assert outcome(None, "Lisbon", 1.0).exact(scale(0.9)) == 1.0
    assert outcome(None, "Lisbon", 1.0).exact(scale(0.0)) == 0.0


def test_the_scale_tells_right_from_wrong_and_declines_what_is_not_said() -> None:
    right, wrong = [outcome("a b", "a b", 3.0), outcome("c", "c", 2.0)], [outcome("e", "f", -2.0)]
    unanswerable = [outcome(None, "d", -1.0 - number / 10) for number in range(10)]
    outcomes = right + wrong + unanswerable
    confidence = calibrate({"a": outcomes, "b": outcomes[::-1]})
    assert [outcome.reply(confidence) for outcome in right + wrong] == ["a b", "c", None]
    assert not any(outcome.reply(confidence) for outcome in unanswerable)
    figures = by_kind(outcomes, confidence)
    assert figures["plain"][:4] == (3, pytest.approx(200 / 3), pytest.approx(200 / 3), 0.0)
    assert figures["unanswerable"][:4] == (10, pytest.approx(100), pytest.approx(100), 0.0)
    assert by_kind(right + wrong, scale(0.0))["all"].wrong == pytest.approx(100 / 3)
    assert figures["all"].calibration_error < 10


def test_an_exam_asks_every_question_in_every_way_of_reading(tokenizer: Tokenizer) -> None:
    model = ErnieDoc(PLAN.model.make(ErnieDocConfig)).eval()
    exam = Exam(Reader(Checkpoint(model, "tiny"), toys.packing()), chooser(), tokenizer)
    text = Text(
        "a", "The pump was built in March. " * 9, (Question("When was it built?", "March", 22, "plain"),)
    )
    rule = AnswerRule(SpanRule(4, 50, "margin"), 4, 12)
    sides = {name: exam.ask([text], replace(rule, **READINGS[name])) for name in readings_of("composed")}
    assert sides.keys() == {"with", "without"}
    assert len({side[0].spans for side in sides.values()}) == 2


def test_a_training_writes_a_checkpoint_and_measures_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "Chooser", lambda encoder: chooser())
    texts = (
        Text(
            "a", "The pump was built in March. " * 9, (Question("When was it built?", "March", 22, "plain"),)
        ),
    )
    monkeypatch.setattr(
        training, "exam_texts", lambda pack, split, seed: {"documents": texts, LONGEST: texts}
    )
    plan = PLAN.change(steps=2, keep_every=2, exam={"shares": (0.0,)})
    options = Namespace(device="cpu", start=None)
    out, lines, pack = tmp_path / "out", list[str](), WORLD
    assert not training.train(Run(plan, pack, tmp_path / "work", out, lines.append, until=1, options=options))
    assert not out.exists()
    run = Run(plan, pack, tmp_path / "work", out, lines.append, options=options)
    assert training.train(run)
    training.measure(run)
    figures = json.loads((out / "measured.json").read_text())
    assert {f"documents/{side}/{kind}" for side in ("with", "alone") for kind in ("all", "plain")} < set(
        figures
    )
    assert "| documents/alone/plain | 1 |" in (out / "README.md").read_text()
    assert any(line.startswith("step 2/2") for line in lines)
