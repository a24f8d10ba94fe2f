"""A converted checkpoint computes what PaddleNLP's did, and its report leaves no tensor out."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models.ernie_doc.checkpoint import load
from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.paddle import PADDLE_CONFIG, PADDLE_WEIGHTS, convert
from models.kit.checkpoint import CheckpointError
from tests.models.ernie_doc.documents import text
from tests.models.ernie_doc.loading_files import paddle_arrays, write_paddle
from tests.models.ernie_doc.test_labelling import label, load_converted
from tests.models.ernie_doc.tiny import CONFIG, segment, tiny_model

SIZES = {"inner": 64}  # PaddleNLP's inner width is four times the width


@pytest.fixture
def model() -> ErnieDoc:
    return tiny_model(**SIZES)


def test_the_converted_model_gives_the_same_bits(model: ErnieDoc, tmp_path: Path) -> None:
    report = convert(write_paddle(model, tmp_path / "paddle"), tmp_path / "ours")
    assert set(report.applied) == paddle_arrays(model).keys()
    assert (report.ignored, report.missing) == ((), ())
    result, words = load(tmp_path / "ours").model, (*segment(1), start_memory(CONFIG, 1))
    assert result.config == model.config
    for actual, expected in zip(result(*words), model(*words), strict=True):
        assert actual.equal(expected)


def test_a_model_with_a_head_for_spans_answers_from_a_context(tmp_path: Path) -> None:
    result = label(load_converted(tmp_path), text(40), top_k=2)
    assert result.answer
    assert result.answer in text(40)
    assert result.explanation is not None
    assert result.explanation["document"]["windows"] > 1


def test_tensors_without_a_place_are_reported(model: ErnieDoc, tmp_path: Path) -> None:
    source = write_paddle(model, tmp_path / "paddle", {"lm_transform.weight": np.ones((2, 2), np.float32)})
    assert convert(source, tmp_path / "ours").ignored == ("lm_transform.weight",)


def test_a_checkpoint_without_span_head_is_converted_with_a_random_head(
    model: ErnieDoc, tmp_path: Path
) -> None:
    source = write_paddle(model, tmp_path / "paddle")
    arrays = paddle_arrays(model)
    for name in ("linear.weight", "linear.bias"):
        arrays.pop(name)
    (source / PADDLE_WEIGHTS).write_bytes(pickle.dumps(arrays))
    assert convert(source, tmp_path / "ours").missing == ("linear.weight", "linear.bias")


def test_a_body_that_is_not_whole_is_refused(model: ErnieDoc, tmp_path: Path) -> None:
    source = write_paddle(model, tmp_path / "paddle")
    arrays = paddle_arrays(model)
    arrays.pop("ernie_doc.pooler.dense.bias")
    (source / PADDLE_WEIGHTS).write_bytes(pickle.dumps(arrays))
    with pytest.raises(CheckpointError, match=r"the checkpoint lacks pooler\.dense\.bias"):
        convert(source, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_tensor_of_another_shape_is_refused(model: ErnieDoc, tmp_path: Path) -> None:
    source = write_paddle(model, tmp_path / "paddle", {"linear.bias": np.ones(3, np.float32)})
    with pytest.raises(CheckpointError, match=r"linear\.bias has the shape \[3\]"):
        convert(source, tmp_path / "ours")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"gelu"', '"relu"', "hidden_act is 'relu', and only 'gelu' is implemented"),
        ('"memory_len"', '"memory"', "the configuration lacks memory_len"),
        ('"num_attention_heads": 2', '"num_attention_heads": 3', "describes no model"),
        ("{", "", "is not JSON"),
        ("{", '["init_args"] #', "is not JSON"),
    ],
)
def test_another_configuration_is_refused(
    model: ErnieDoc, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    source = write_paddle(model, tmp_path / "paddle")
    config = source / PADDLE_CONFIG
    config.write_text(config.read_text().replace(old, new, 1))
    with pytest.raises(CheckpointError, match=sentence):
        convert(source, tmp_path / "ours")


def test_a_folder_that_is_not_paddlenlps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"model_config\.json is missing"):
        convert(tmp_path, tmp_path / "ours")


def test_the_command_says_what_became_of_every_tensor(model: ErnieDoc, tmp_path: Path) -> None:
    source = write_paddle(model, tmp_path / "paddle", {"lm_bias": np.ones(2, np.float32)})
    command = [sys.executable, "-m", "models.ernie_doc.paddle"]
    first = subprocess.run([*command, source, tmp_path / "ours"], capture_output=True, text=True, check=True)
    assert first.stdout.splitlines() == [f"{len(paddle_arrays(model))} tensors used", "not used: lm_bias"]
    (source / PADDLE_WEIGHTS).write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
    second = subprocess.run(
        [*command, source, tmp_path / "ours"], capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert "the file asks for posix.system; nothing was run" in second.stderr
