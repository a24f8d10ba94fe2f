"""Options are whole objects and no answer; bfloat16 gives the same answers."""

import pytest
import torch
from torch import Tensor

from models.kbert.heads import list_options
from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, build_row, collate
from models.kbert.text import WordPieces
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
