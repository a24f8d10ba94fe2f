"""A reader finds the answer in a text."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from math import log
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.confidence import Confidence, sigmoid
from models.encoder.bert import WIDTH
from models.encoder.weights import find
from models.kit.checkpoint import WEIGHTS, CheckpointError
from models.reading.checkpoint import CONFIG, HEADS, assemble, load, save
from models.reading.confidence import FARTHEST, NO_SCALE, rate, read_features
from models.reading.document import Document, DocumentRefused, tokenize
from models.reading.reader import BATCH, Reader, Settings
from models.reading.spans import Span, SpanRule, follow_spans
from models.reading.windows import OFFSET, Window, owners
from models.system import Ask
from tests.models.ernie_doc.tiny import document, text, tokenizer

SETTINGS = Settings(length=32, question_room=8, overlap=8, longest=4)


def heads() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {name: torch.randn(WIDTH, WIDTH, generator=generator) / 8 for name in HEADS}


@cache
def tiny_reader() -> Reader:
    return assemble(heads(), SETTINGS, NO_SCALE)


TEXT = (
    "The old pump by the river was built in March. After the flood had left sand, Anna Keller mended it. " * 4
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return tiny_reader()


def with_scale(reader: Reader, scale: Confidence) -> Reader:
    return Reader(reader._encoder, reader._heads, reader.settings, scale)


def test_spans_are_cut_from_the_text_and_named_once(reader: Reader) -> None:
    finding = reader.find("Who mended the pump?", TEXT)
    assert finding.n_windows > 3
    assert all(TEXT[span.start : span.end] == span.text for span in finding.spans)
    assert len({span.text for span in finding.spans}) == len(finding.spans)
    assert list(finding.scores) == sorted(finding.scores, reverse=True)


def test_a_window_is_read_alike_alone_and_beside_others(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = reader.find("Who mended the pump?", TEXT)
    monkeypatch.setitem(BATCH, "cpu", 1)
    alone = reader.find("Who mended the pump?", TEXT)
    assert [span.text for span in alone.spans] == [span.text for span in together.spans]
    assert alone.scores == pytest.approx(together.scores, abs=1e-4)


@pytest.mark.parametrize(("question", "text"), [("", TEXT), ("Who?", ""), ("Who?", "\u200b"), ("\n", "\n")])
def test_without_words_nothing_is_said(reader: Reader, question: str, text: str) -> None:
    reply = reader.answer(Ask(question, context=text, explain=True, top_k=3))
    assert (reply.answer, reply.best, reply.score, reply.reason) == (None, "", 0.0, "not_said")
    assert reply.explanation == {"kind": "span", "windows": 0, "spans": []}


def test_the_best_span_is_given_from_the_threshold_on(reader: Reader) -> None:
    ask = Ask("Who mended the pump?", context=TEXT, top_k=3)
    score = reader.answer(ask).score
    sure, unsure = (
        with_scale(reader, replace(NO_SCALE, threshold=threshold)).answer(ask)
        for threshold in (score, score + 1e-9)
    )
    assert (sure.answer, sure.reason) == (sure.best, None)
    assert (unsure.answer, unsure.best, unsure.reason) == (None, sure.best, "not_said")
    assert len(sure.alternatives) == 2
    assert sure.best not in {other.answer for other in sure.alternatives}


def test_a_long_question_is_cut_and_says_so(reader: Reader) -> None:
    assert reader.answer(Ask("Who mended it " * 30, context=TEXT)).truncated
    assert not reader.answer(Ask("Who mended it?", context=TEXT)).truncated


def test_a_checkpoint_reads_as_what_was_saved(tmp_path: Path) -> None:
    layers = {name: value for name, value in find().weights.items() if name.startswith("encoder.layer.5.")}
    tensors = {name: value.half().float() for name, value in (layers | heads()).items()}
    scale = Confidence((1.0, 0.5, -0.5), 0.25, 0.5)
    save(tensors, SETTINGS, scale, tmp_path)
    copy = load(tmp_path)
    assert (copy.settings, copy.confidence) == (SETTINGS, scale)
    expected = assemble(tensors, SETTINGS, scale).find("Who mended the pump?", TEXT)
    assert copy.find("Who mended the pump?", TEXT) == expected


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    save(heads(), SETTINGS, NO_SCALE, tmp_path)
    content = bytearray((tmp_path / name).read_bytes())
    content[-2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name):
        load(tmp_path)


def test_tokens_are_cut_from_the_original_text() -> None:
    text = "Café  Münster,\n\n‘Zürich’ costs 4,180 € – naïvely."
    content = document(text)
    pieces = [text[slice(*content.cut(place, place))] for place in range(len(content))]
    words = [text[slice(*content.cut(0, 0))], text[slice(*content.cut(1, 1))]]
    assert words[0] == "Café"
    assert "Zürich" in text[slice(*content.cut(0, len(content) - 1))]
    assert "".join(pieces) == "".join(text.split())


def test_pieces_of_a_word_belong_together() -> None:
    content = document("unbelievably pumped")
    assert len(content) > 2
    begins = [place for place, first in enumerate(content.begins_word.tolist()) if first]
    ends = [place for place, last in enumerate(content.ends_word.tolist()) if last]
    assert [content.cut(*ends_of) for ends_of in zip(begins, ends, strict=True)] == [(0, 12), (13, 19)]


def test_a_single_word_begins_and_ends() -> None:
    content = document("unbelievably")
    assert content.begins_word[0]
    assert content.ends_word[-1]
    assert int(content.begins_word.sum()) == 1


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("built in 1911²", "1911"),
        ("with 14¹ workers", "workers"),
        ("of 120 m²", "m²"),
        ("about 10⁶", "10⁶"),
        ("in 1911²³,", ","),
    ],
)
def test_a_mark_of_a_note_is_no_part_of_a_figure(text: str, last: str) -> None:
    content = document(text)
    first = max(place for place, begins in enumerate(content.begins_word.tolist()) if begins)
    start, end = content.cut(first, len(content) - 1)
    assert text[start:end] == last
    assert "14¹" not in [text[slice(*content.cut(place, place))] for place in range(len(content))]


@pytest.mark.parametrize("text", ["", "  \n\t ", "\u200b"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(DocumentRefused, match="the document has no words"):
        document(text)


def test_a_document_above_the_limit_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="has 12 tokens, and at most 10 are read"):
        tokenize("pump " * 12, tokenizer(), most_tokens=10)


def span(text: str, margin: float) -> Span:
    return Span(margin, 0.0, 0, len(text), text, 0)


def test_a_rival_is_a_span_with_another_text() -> None:
    spans = [span("Anna Keller", 5.0), span("anna keller", 4.0), span("Keller", 2.0)]
    assert read_features(spans[0], spans, 7) == (5.0, 3.0, pytest.approx(log(7)))


def test_a_span_without_a_rival_is_as_far_from_one_as_can_be() -> None:
    only = span("March", 90.0)
    assert read_features(only, [only], 1) == (FARTHEST, FARTHEST, 0.0)


def test_scores_are_fitted_and_never_rise() -> None:
    spans = [span("a", 3.0), span("b", 1.0), span("c", 0.0)]
    scale = Confidence((0.5, 0.25, -1.0), 0.1, 0.0)
    scores = rate(spans, 2, scale)
    assert scores[0] == pytest.approx(sigmoid(0.1 + 1.5 + 0.5 - log(2)))
    assert scores == sorted(scores, reverse=True)
    against_rivals = Confidence((-1.0, 0.0, 0.0), 0.0, 0.0)  # weights that would prefer the worst span
    assert len(set(rate(spans, 2, against_rivals))) == 1


MARGIN = SpanRule(longest=4, n_best=5)
WINDOWS = [Window(0, 8), Window(6, 14), Window(12, 16)]
CONTENT = document("the old pump by the river was built in march after the flood had left sand")


def best_spans(
    content: Document, windows: list[Window], scores: Iterable[torch.Tensor], rule: SpanRule
) -> list[Span]:
    return list(follow_spans(content, windows, range(len(windows)), scores, rule))[-1]


def logits(n_windows: int, seed: int, length: int = 12) -> torch.Tensor:
    return torch.randn(n_windows, length, 2, generator=torch.Generator().manual_seed(seed))


def point_at(scores: torch.Tensor, window: int, first: int, last: int, amount: float = 20.0) -> torch.Tensor:
    """Let a window point at tokens of the document."""
    scores = scores.clone()
    scores[window, OFFSET + first - WINDOWS[window].first, 0] += amount
    scores[window, OFFSET + last - WINDOWS[window].first, 1] += amount
    return scores


def test_the_answer_is_cut_from_the_text_of_the_window_that_points_at_it() -> None:
    best = best_spans(CONTENT, WINDOWS, point_at(logits(3, 0), 1, 8, 9), MARGIN)[0]
    assert (best.text, best.window) == ("in march", 1)
    assert CONTENT.text[best.start : best.end] == "in march"


@given(seed=st.integers(0, 1000), longest=st.integers(1, 9))
def test_no_span_is_better_than_the_best(seed: int, longest: int) -> None:
    rule = SpanRule(longest=longest, n_best=3)
    scores, owner = logits(3, seed), owners(WINDOWS, 16).tolist()
    values = []
    for number, (first, last) in enumerate(WINDOWS):
        null = scores[number, 0].sum()
        values += [
            float(scores[number, OFFSET + i - first, 0] + scores[number, OFFSET + j - first, 1] - null)
            for i in range(first, last)
            for j in range(i, min(last, i + longest))
            if owner[i] == number
        ]
    best = best_spans(CONTENT, WINDOWS, scores, rule)
    expected = sorted(values, reverse=True)[:3]
    torch.testing.assert_close(torch.tensor([span.margin for span in best]), torch.tensor(expected))


def test_a_span_in_two_windows_counts_in_the_one_with_more_around_it() -> None:
    edge = point_at(torch.zeros(3, 12, 2), 0, 7, 7)
    assert all(span.start != CONTENT.cut(7, 7)[0] for span in best_spans(CONTENT, WINDOWS, edge, MARGIN))
    middle = point_at(torch.zeros(3, 12, 2), 1, 7, 7)
    assert best_spans(CONTENT, WINDOWS, middle, MARGIN)[0].text == CONTENT.text[slice(*CONTENT.cut(7, 7))]


def test_a_window_sure_of_no_answer_loses() -> None:
    scores = point_at(point_at(torch.zeros(3, 12, 2), 0, 2, 2, 10.0), 2, 14, 14, 9.0)
    scores[0, 0] += 30.0
    assert best_spans(CONTENT, WINDOWS, scores, MARGIN)[0].text == "left"


def test_an_answer_is_never_a_piece_of_a_word() -> None:
    content = document("they worked unbelievably hard")
    windows = [Window(0, len(content))]
    scores = torch.zeros(1, len(content) + 2, 2)
    scores[0, OFFSET + 3, :] = 9.0  # the second piece of the long word
    for span in best_spans(content, windows, scores, SpanRule(10, 20)):
        assert set(span.text.split()) <= set(content.text.split())


def test_nothing_of_question_or_padding_is_an_answer() -> None:
    content, windows = document(text(5)), [Window(0, 5)]
    scores = torch.zeros(1, 12, 2)
    scores[0, 6:] = 50.0
    assert best_spans(content, windows, scores, MARGIN)[0].total == 0.0


def test_logits_are_numbers_one_window_at_a_time() -> None:
    numbers: list[int] = []

    def stream() -> object:
        for number, part in enumerate(logits(3, 0)):
            numbers.append(number)
            yield part

    assert len(best_spans(CONTENT, WINDOWS, stream(), MARGIN)) == 5  # type: ignore[arg-type]
    assert numbers == [0, 1, 2]
