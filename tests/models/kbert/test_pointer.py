"""Answers as spans of the tree: never across branches, texts or separators."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.kbert import Encoder, Pointer, Reader, Row, Triple, answers, collate
from models.kbert.pointer import allowed_spans

Read = Callable[..., Reader]
TEXT = "爱吃苹果哈在北京"  # [CLS] 爱吃 苹果 产地山东 属于水果 哈在 北京 是首都


def pointing(row: Row, start: int, end: int, at: int = 0, length: int | None = None) -> Tensor:
    logits = torch.zeros(1, length or len(row), 2)
    logits[0, start, 0] += 9
    logits[0, end, 1] += 9
    logits[0, at] += 1
    return logits


def test_an_object_that_the_graph_hung_on_a_word_is_the_answer(reader: Read) -> None:
    row = reader().single(TEXT)
    (answer,) = answers(pointing(row, 7, 8), [row], collate([row], 0), 10)
    assert answer.text == "山东"
    assert answer.fact is not None
    assert answer.fact.triple == Triple("苹果", "产地", "山东", "fruit.spo", 1)
    assert answer.fact.text[answer.start : answer.end] == "山东"
    assert 0.9 < answer.probability <= 1


def test_a_span_of_the_text_goes_on_behind_the_facts(reader: Read) -> None:
    row = reader().single(TEXT)
    (answer,) = answers(pointing(row, 3, 13), [row], collate([row], 0), 10)
    assert (answer.text, answer.fact) == ("苹果哈", None)
    assert TEXT[answer.start : answer.end] == answer.text


def test_no_answer_is_cls(reader: Read) -> None:
    row = reader().single(TEXT)
    (answer,) = answers(pointing(row, 0, 0), [row], collate([row], 0), 10)
    assert answer.text is None
    assert answer.fact is None


def test_the_second_text_of_a_pair_is_cut_from_the_second_text(reader: Read) -> None:
    row = reader().without_graph().pair("爱吃", "在北京好")
    (answer,) = answers(pointing(row, 5, 6), [row], collate([row], 0), 10)
    assert (answer.text, answer.part, answer.start, answer.end) == ("北京", 1, 1, 3)


def test_spans_stay_in_their_branch_text_and_length(reader: Read) -> None:
    rows = [reader().pair("爱苹果", "北京好"), reader().single("好")]
    batch = collate(rows, 0, 32)
    allowed = allowed_spans(rows, batch, 3)
    for number, row in enumerate(rows):
        for start, end in allowed[number].nonzero().tolist():
            first, last = row.tokens[start], row.tokens[end]
            assert (first.branch, first.part) == (last.branch, last.part)
            assert 0 <= last.position - first.position < 3
            assert not first.tag
            assert not last.tag
    assert int(allowed[1].sum()) == 1
    per_run = {1: 1, 2: 3, 3: 6, 4: 9}  # spans of at most three tokens in a run of so many
    assert int(allowed[0].sum()) == per_run[3] * 2 + per_run[4] * 2 + per_run[3]


def test_padding_changes_no_answer(build: Callable[..., Encoder], reader: Read) -> None:
    torch.manual_seed(2)
    model = Pointer(build()).eval()
    rows = [reader().single(text) for text in (TEXT, "好", "北京好")]
    batch = collate(rows, 0, 40)
    together = answers(model(batch), rows, batch, 5)
    for row, answer in zip(rows, together, strict=True):
        alone = collate([row], 0)
        (one,) = answers(model(alone), [row], alone, 5)
        assert (one.text, one.start, one.fact) == (answer.text, answer.start, answer.fact)
        assert one.probability == pytest.approx(answer.probability, abs=1e-5)


def test_a_row_without_cls_is_refused(reader: Read) -> None:
    row = reader().tagging("爱")
    with pytest.raises(ValueError, match=r"begins with \[CLS\]"):
        answers(torch.zeros(1, 1, 2), [row], collate([row], 0), 5)
