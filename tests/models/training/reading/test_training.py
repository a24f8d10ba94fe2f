"""The reader's training goes from written texts to a checkpoint that opens, in two steps."""

import json
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
from models.training.reading.written.texts import PASSAGES, Split, Text, read_texts
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
