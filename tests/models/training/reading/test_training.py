"""The reader's training goes from written texts to a checkpoint that opens, in two steps.

Documents are held out whole, and their answers stand where the questions say.
"""

import json
import random
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from models.kit.checkpoint import WEIGHTS
from models.packs.pack import WORLD
from models.reading.checkpoint import load
from models.reading.confidence import NO_SCALE
from models.training.kit.run import Run
from models.training.reading import examples, training
from models.training.reading.written.texts import (
    PASSAGES,
    Question,
    Split,
    Text,
    check,
    excerpt,
    is_whole,
    read_texts,
)
from tests.models.training.toys import COMMON, PARAGRAPH

PLAN = training.PLAN.change(
    rows=2, length=64, pretext_steps=1, steps=2, keep_every=1, warmup=1, n_corrected=1
)


def few_texts(split: Split) -> list[Text]:
    return [text for text in read_texts(split, PASSAGES, "d.jsonl") if text.questions][:2]


def few_hands(split: Split) -> Mapping[str, Sequence[Text]]:
    return {"passages d": few_texts(split)}


def test_the_reader_is_trained_measured_and_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples, "read_sources", few_texts)
    monkeypatch.setattr(training, "exam_texts", few_hands)
    monkeypatch.setattr(training, "calibrate", lambda hands: NO_SCALE)  # two steps find hardly an answer
    monkeypatch.setattr(training, "read_prose", lambda folder: [PARAGRAPH, *[COMMON] * 3])
    lines, out, options = list[str](), tmp_path / "out", Namespace(device="cpu", start=None)

    def run(until: int | None = None) -> Run:
        return Run(PLAN, WORLD, tmp_path / "work", out, lines.append, until, None, options)

    assert not training.train(run(until=1))
    assert training.train(run())
    training.measure(run())
    figures, card = json.loads((out / "measured.json").read_text()), (out / "README.md").read_text()
    assert figures["passages d"]["all"]["questions"] > 2
    assert figures["corrections"].keys() == {"follow", "n_follow", "stay", "n_stay"}
    assert "| all | all |" in card
    assert load(out).confidence == NO_SCALE
    options.start = out / WEIGHTS
    again = Run(PLAN, WORLD, tmp_path / "again", out, lines.append, None, None, options)
    assert training.train(again)
    assert "step 1/1" in lines[-2]


SPLITS = ("train", "choose", "test")


def test_every_answer_is_a_whole_part_of_its_text() -> None:
    for text in (text for split in SPLITS for text in read_texts(split)):
        for question in text.questions:
            check(question, text.text, text.title)
            assert is_whole(question, text.text)


def test_an_excerpt_is_a_part_of_its_document_with_the_questions_that_it_answers() -> None:
    text = read_texts("train")[0]
    excerpts = [excerpt(text, 1200, random.Random(number)) for number in range(20)]
    assert len({part.text for part in excerpts}) > 2
    for part in excerpts:
        assert part.text in text.text
        assert 1200 <= len(part.text) < len(text.text)
        for question in part.questions:
            check(question, part.text, part.title)
        unanswerable = [question for question in text.questions if question.answer is None]
        assert [question for question in part.questions if question.answer is None] == unanswerable
    texts = {question.text for part in excerpts for question in part.questions}
    assert texts == {question.text for question in text.questions}


def test_an_answer_at_another_place_is_refused() -> None:
    with pytest.raises(ValueError, match="a: 'ice' does not stand at 1 of the text"):
        check(Question("what?", "ice", 1, "plain"), "the ice", "a")
