"""A reader learns from rows."""

import json
import random
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.encoder.weights import find
from models.kit.checkpoint import WEIGHTS
from models.packs.pack import WORLD
from models.reading.checkpoint import load
from models.reading.confidence import NO_SCALE
from models.training.kit.run import Run
from models.training.reading import examples, training
from models.training.reading.learning import span_loss
from models.training.reading.net import NO_ANSWER, ReadingNet, Row, collate
from models.training.reading.training import PLAN
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
from models.training.reading.written.variants import add_distractors, replace_names
from tests.models.training.toys import COMMON, PARAGRAPH, pretext, word_pieces

TOKENS = word_pieces()
WORDS = {id: word for word, id in find().tokenizer().get_vocab().items()}
START = PARAGRAPH.index("Anna Keller")
TEXT = Text("a", PARAGRAPH, (Question("Who kept the light?", "Anna Keller", START, "plain"),))


def words_of(row: Row, first: int, last: int) -> str:
    return " ".join(WORDS[id] for id in row.ids[first : last + 1])


def test_a_mask_hides_what_stands_elsewhere() -> None:
    rows, rng, names = pretext(), random.Random(1), set()
    for _ in range(30):
        row = rows.draw(rng)
        names |= {words_of(row, *answer) for answer in row.answers}
        assert all(WORDS[row.ids[ask]] == "[MASK]" for ask in row.asks)
        for answer in row.answers:
            assert words_of(row, *answer) not in words_of(row, 1, answer[0] - 1)
            assert words_of(row, *answer) not in words_of(row, answer[1] + 1, len(row.ids))
    assert {"anna keller", "lighthouse of co ##rran"} <= names


@pytest.mark.parametrize("seed", range(8))
def test_other_names_and_sentences_keep_the_answer(seed: int) -> None:
    rng = random.Random(seed)
    pool = ["Bruno", "Castel", "Dario", "Elvas", "Fermo"]
    text = replace_names(TEXT, pool, rng)
    assert text.questions[0].answer != "Anna Keller"
    assert set((text.questions[0].answer or "").split()) <= set(pool)
    text = add_distractors(text, replace(TEXT, text="It rained. Nobody came. The end."), rng)
    (question,) = text.questions
    assert question.start is not None
    assert question.answer is not None
    assert text.text[question.start : question.start + len(question.answer)] == question.answer


def test_an_answer_lies_in_the_text_or_at_the_first_token() -> None:
    net = ReadingNet(0.0)
    rows = [
        Row([101, 2040, 103, 102, 4698, 16155, 102], [2], [(4, 5)], 4, 6),
        Row([101, 2040, 103, 102, 4698, 102], [2], [NO_ANSWER], 4, 5),
    ]
    batch = collate(rows, TOKENS.padding)
    logits = net(batch)
    assert logits.shape == (2, 7, 2)
    is_open = (logits[..., 0] > -1e3).tolist()
    assert is_open == [
        [True, False, False, False, True, True, False],
        [True, False, False, False, True, False, False],
    ]
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=PLAN.lr)
    losses = []
    for _ in range(8):
        loss = span_loss(net(batch), batch)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2


TRAINING_PLAN = training.PLAN.change(
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
        return Run(TRAINING_PLAN, WORLD, tmp_path / "work", out, lines.append, until, None, options)

    assert not training.train(run(until=1))
    assert training.train(run())
    training.measure(run())
    figures, card = json.loads((out / "measured.json").read_text()), (out / "README.md").read_text()
    assert figures["passages d"]["all"]["questions"] > 2
    assert figures["corrections"].keys() == {"follow", "n_follow", "stay", "n_stay"}
    assert "| all | all |" in card
    assert load(out).confidence == NO_SCALE
    options.start = out / WEIGHTS
    again = Run(TRAINING_PLAN, WORLD, tmp_path / "again", out, lines.append, None, None, options)
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
