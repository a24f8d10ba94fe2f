"""Rows of the reader's training: masked spans stand elsewhere in their text, and answers keep their characters."""

import random
from dataclasses import replace

import pytest
import torch

from models.encoder.weights import find
from models.training.reading.learning import span_loss
from models.training.reading.net import NO_ANSWER, ReadingNet, Row, collate
from models.training.reading.training import PLAN
from models.training.reading.written.texts import Question, Text
from models.training.reading.written.variants import add_distractors, replace_names
from tests.models.training.toys import PARAGRAPH, pretext, word_pieces

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
