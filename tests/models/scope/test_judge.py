"""The judge gives the same bits whatever it is asked beside, and refuses files that are not its own."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from onnx import TensorProto, helper

from models.checkpoint import CheckpointError, write_sums
from models.encoder.minilm import MiniLM
from models.scope.judge import CPU, DEFAULT, FILES, GRAPH, Judge
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


def test_it_computes_on_the_cpu_where_there_is_no_gpu(encoder: MiniLM) -> None:
    assert Judge.load(encoder).provider == CPU


def test_a_long_text_and_a_script_that_the_encoder_does_not_read_are_judged(encoder: MiniLM) -> None:
    judge = Judge.load(encoder)
    texts = [judge.tokens(text) for text in ("mayor " * 4_000, "市长是谁?", "")]
    assert all(
        bool(judge([(first, second)], torch.zeros(1)).isfinite()) for first in texts for second in texts
    )


def test_a_damaged_graph_is_named(encoder: MiniLM, folder: Path) -> None:
    path = folder / GRAPH
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError, match=GRAPH):
        Judge.load(encoder, folder)


def test_a_graph_of_another_kind_is_refused(encoder: MiniLM, folder: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "other",
        [value],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (folder / GRAPH).write_bytes(model.SerializeToString())
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match="lacks the format"):
        Judge.load(encoder, folder)
    (folder / GRAPH).write_bytes(b"no graph at all")
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match="cannot read it"):
        Judge.load(encoder, folder)


def test_a_configuration_without_a_calibration_is_refused(encoder: MiniLM, folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"calibration": {"slope": 1.0}}))
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        Judge.load(encoder, folder)
