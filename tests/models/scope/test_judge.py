"""The judge gives the same bits whatever it is asked beside, and refuses files that are not its own."""

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.checkpoint import WEIGHTS, CheckpointError, parse_tensors, write_sums
from models.scope.judge import DEFAULT, FILES, Judge
from models.training.scope.training import read_weights
from models.training.scope.trials import read_near


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return MiniLM()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEFAULT, tmp_path / "scope"))


def test_a_score_is_the_same_bits_alone_in_company_and_after_a_restart(encoder: MiniLM) -> None:
    judge, replica = Judge.load(encoder), Judge.load(encoder)
    texts = [question.text for question in read_near().questions[:60]]
    pairs = list(pairwise(map(judge.tokens, texts)))
    cosines = torch.zeros(len(pairs))
    together = judge(pairs, cosines)
    alone = torch.cat([replica([pair], cosines[:1]) for pair in reversed(pairs)]).flip(0)
    assert torch.equal(together, alone)
    assert len(set(together.tolist())) > 50


def test_what_torch_reads_on_a_gpu_is_what_8_bits_read(
    encoder: MiniLM, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = PairLayers(encoder, read_weights(DEFAULT / WEIGHTS), in_8_bits=True)
    exact = PairLayers(MiniLM(device=device), read_weights(DEFAULT / WEIGHTS), in_8_bits=False)
    assert (quick.engine, exact.engine) == ("onnxruntime, 8 bits", f"torch, float32, {device}")
    judge = Judge.load(encoder)
    pairs = list(pairwise(judge.tokens(question.text) for question in read_near().questions[:80]))
    raw, expected = quick(pairs), exact(pairs)
    assert judge.engine == quick.engine
    assert expected.std() > 2
    assert (raw - expected).square().mean().sqrt() < 0.1
    monkeypatch.setattr("models.encoder.pairs.SLOTS_ON_GPU", 200)
    torch.testing.assert_close(exact(pairs), expected, atol=1e-4, rtol=1e-4)
    assert len(exact([])) == 0


def test_a_long_text_and_a_script_that_the_encoder_does_not_read_are_judged(encoder: MiniLM) -> None:
    judge = Judge.load(encoder)
    texts = [judge.tokens(text) for text in ("mayor " * 4_000, "市长是谁?", "")]
    assert all(
        bool(judge([(first, second)], torch.zeros(1)).isfinite()) for first in texts for second in texts
    )


@pytest.mark.parametrize("name", ["out", "sides", "encoder.layer.5.output.dense.weight"])
@pytest.mark.parametrize("change", [lambda _: None, lambda weight: weight[:-1]])
def test_weights_that_are_no_judges_are_refused(
    encoder: MiniLM, folder: Path, name: str, change: Callable[[Tensor], Tensor | None]
) -> None:
    path = folder / WEIGHTS
    weights = parse_tensors(path.read_bytes(), path)
    changed = {name: change(weights.pop(name))}
    save_file(weights | {name: value.clone() for name, value in changed.items() if value is not None}, path)
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match=r"model\.safetensors has no weights of a judge"):
        Judge.load(encoder, folder)


def test_a_configuration_without_a_calibration_is_refused(encoder: MiniLM, folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"calibration": {"slope": 1.0}}))
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        Judge.load(encoder, folder)
