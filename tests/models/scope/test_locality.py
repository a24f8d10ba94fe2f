"""The margin lies between the measured values, and is given only for the checkpoint that was measured."""

import dataclasses
from pathlib import Path

import pytest
import torch

from models.memory import Block, Image
from models.nkb.memory import BankMemory
from models.nkb.reader import ReadCache, Reader
from models.scope.locality import Locality

LOCALITY = Locality("sha256:mine", [1, 100, 10_000], [100.0, 99.0, 97.5])


@pytest.mark.parametrize(
    ("edits", "margin"),
    [(0, 3.0), (1, 3.0), (10, 2.5), (100, 2.0), (1_000, 1.25), (10_000, 0.5), (50_000, 0.5)],
)
def test_the_margin_falls_with_the_logarithm_of_the_edits(edits: int, margin: float) -> None:
    assert LOCALITY.margin(edits) == pytest.approx(margin)


def test_what_was_measured_of_another_checkpoint_says_nothing_of_this_one(tmp_path: Path) -> None:
    assert Locality.load(tmp_path, "sha256:mine") is None
    LOCALITY.save(tmp_path)
    assert Locality.load(tmp_path, "sha256:mine") == LOCALITY
    assert Locality.load(tmp_path, "sha256:other") is None


@pytest.fixture
def measured_bank(tmp_path: Path, reader: Reader) -> BankMemory:
    checkpoint = dataclasses.replace(reader, folder=tmp_path)
    dataclasses.replace(LOCALITY, checkpoint=checkpoint.digest_with_judge).save(tmp_path)
    return BankMemory(checkpoint, ReadCache(checkpoint))


def image(memory: BankMemory, edits: int) -> Image:
    tokens = {"tokens": torch.zeros(2, dtype=torch.int32)}
    blocks = [Block.of(f"edit/{n}", n, "gated", tokens) for n in range(edits)]
    return Image(memory.base.base, {block.key: block for block in blocks})


@pytest.mark.xfail(
    strict=True, reason="edits of the pack were not measured again with these weights of the judge"
)
def test_the_default_checkpoint_keeps_edits_apart(memory: BankMemory) -> None:
    usage = memory.usage(image(memory, 1))
    assert usage.margin is not None
    assert 2 < usage.margin <= 3
    assert not usage.warnings


def test_a_curator_is_warned_before_edits_stop_keeping_apart(measured_bank: BankMemory) -> None:
    assert measured_bank.usage(image(measured_bank, 100)).warnings == ()
    assert measured_bank.usage(image(measured_bank, 100)).slots_used == 200
    (near,) = measured_bank.usage(image(measured_bank, 4_000)).warnings
    assert "about 2.2 in 100 near questions" in near
    _, beyond = measured_bank.usage(image(measured_bank, 12_000)).warnings
    assert "measured up to 10,000" in beyond
