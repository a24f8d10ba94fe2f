"""A reader finds spans of a text over its windows, and gives one as an answer if it is sure enough."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.confidence import Confidence
from models.encoder.weights import find
from models.kit.checkpoint import WEIGHTS, CheckpointError
from models.reading.checkpoint import CONFIG, assemble, load, save
from models.reading.confidence import NO_SCALE
from models.reading.reader import BATCH, Reader
from models.system import Ask
from tests.models.reading.tiny import SETTINGS, heads, tiny_reader

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
