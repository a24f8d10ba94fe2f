"""Options are whole objects and no answer; bfloat16 gives the same answers."""

import pytest
import torch
from torch import Tensor

from models.kbert.answer import Answerer
from models.kbert.checkpoint import load
from models.kbert.heads import Option, Options, list_options
from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, build_row, collate
from models.kbert.system import KbertSystem
from models.kit.text import WordPieces
from models.steps import finish
from tests.models.kbert.questions import KIM, linked_ask

RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4}
QUESTION, CONTEXT = "Where was Kim Lee born?", "Kim was born in New York, they say."


@pytest.fixture
def rows(pieces: WordPieces) -> list[QuestionRow]:
    links = link_mentions(linked_ask(QUESTION, "Kim Lee", KIM).mentions, [RANKS], 6, 4)
    return [build_row(QUESTION, second, links, pieces, 64) for second in (None, CONTEXT)]


def pointing_at(row: QuestionRow, start: int, end: int, length: int) -> Tensor:
    logits = torch.zeros(length, 2)
    logits[start, 0] = logits[end, 1] = 9.0
    return logits


def test_the_object_that_is_pointed_at_comes_first(rows: list[QuestionRow]) -> None:
    batch = collate([row.row for row in rows], 0)
    logits = torch.stack([pointing_at(row, *row.objects[0], batch.ids.shape[1]) for row in rows])
    for options in list_options(rows, logits, rank_weight=1.0):
        assert [option.answer for option in options.by_logit] == ["Oslo", "Ada Berg", "painter"]
        assert options.by_logit[0].logit == pytest.approx(18.9)
        assert options.no_answer == 0.0


def test_shares_are_one_softmax_with_no_answer() -> None:
    shares, no_answer = Options((Option("a", 2.0), Option("b", 1.0)), 0.5).shares()
    expected = torch.softmax(torch.tensor([2.0, 1.0, 0.5]), 0).tolist()
    assert [*shares, no_answer] == pytest.approx(expected)


def test_bfloat16_gives_the_same_answers(default: KbertSystem, device: torch.device) -> None:
    asks = [
        linked_ask(QUESTION, "Kim Lee", KIM),
        linked_ask("Whom did Kim Lee marry?", "Kim Lee", KIM),
        linked_ask("what does Kim Lee do for a living", "Kim Lee", KIM),
        linked_ask("What is the melting point of Kim Lee?", "Kim Lee", KIM),
        linked_ask("Who is Kim Lee married to?", "Kim Lee", KIM, candidates=("Tom Fox", "Ada Berg")),
    ]
    answerer = Answerer(load(device=device, dtype=torch.bfloat16))
    actual = finish(answerer.reply(asks, finish(answerer.read(asks))))
    expected = default.answer(asks, [{}] * len(asks))
    assert [reply.answer for reply in actual] == [reply.answer for reply in expected]
    for reply, exact in zip(actual, expected, strict=True):
        assert reply.score == pytest.approx(exact.score, abs=0.05)
