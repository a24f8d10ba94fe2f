"""A converted checkpoint computes what PaddleNLP's did, and its report leaves no tensor out.

A `.pdparams` file gives arrays of floats, and anything else that it asks for is refused before it runs.
"""

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.ernie_doc.checkpoint import load
from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.paddle import (
    PADDLE_CONFIG,
    PADDLE_WEIGHTS,
    STRUCTURE,
    UnsafeCheckpoint,
    convert,
    read_pdparams,
)
from models.kit.checkpoint import CheckpointError
from tests.models.ernie_doc.loading_files import paddle_arrays, write_paddle
from tests.models.ernie_doc.test_labelling import label, load_converted
from tests.models.ernie_doc.tiny import CONFIG, segment, text, tiny_model

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


ARRAYS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
    "half": np.ones(4, np.float16),
    "number": np.array(3.0, np.float32),
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write_file(content: bytes) -> Path:
        path = tmp_path / "model_state.pdparams"
        path.write_bytes(content)
        return path

    return write_file


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_of_every_protocol_are_read(write: Callable[[bytes], Path], protocol: int) -> None:
    content = {**ARRAYS, STRUCTURE: {"matrix": "w_0"}}
    arrays = read_pdparams(write(pickle.dumps(content, protocol=protocol)))
    assert arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name].numpy(), expected)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_names_of_older_numpy_are_read(write: Callable[[bytes], Path], protocol: int) -> None:
    content = pickle.dumps({"matrix": ARRAYS["matrix"]}, protocol=protocol)
    older = {
        b"numpy._core.multiarray": b"numpy.core.multiarray",
        b"numpy._core.numeric": b"numpy.core.numeric",
    }
    for name, old in older.items():
        length, old_length = bytes([len(name)]), bytes([len(old)])
        content = content.replace(b"\x8c" + length + name, b"\x8c" + old_length + old).replace(
            b"c" + name, b"c" + old
        )
    if protocol >= 4:  # the frame is shorter by a letter
        size = struct.unpack("<Q", content[3:11])[0]
        content = content[:3] + struct.pack("<Q", size - 1) + content[11:]
    np.testing.assert_array_equal(read_pdparams(write(content))["matrix"], ARRAYS["matrix"])


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("function", "arguments", "symbol"),
    [
        (os.system, ("touch broken",), "system"),
        (eval, ("1",), "eval"),
        (getattr, ("", "join"), "getattr"),
        (np.load, ("file",), "numpy.load"),
        (np.frombuffer, (b"1234", "f4"), "frombuffer"),
        (pickle.loads, (b"N.",), "loads"),
    ],
)
def test_a_call_is_refused_by_its_name_and_never_made(
    write: Callable[[bytes], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: int,
    function: Any,
    arguments: tuple[Any, ...],
    symbol: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(pickle.dumps({"matrix": Calls(function, *arguments)}, protocol=protocol))
    with pytest.raises(UnsafeCheckpoint, match=rf"unsafe_checkpoint: the file asks for .*{symbol};"):
        read_pdparams(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x8c\x05numpy\x8c\x0dndarray.dtype\x93.",  # a chain of attributes
        b"cnumpy.core\nmultiarray._reconstruct\n.",
        b"cnumpy.core.multiarrays\n_reconstruct\n.",  # a longer module
        b"cNumpy\ndtype\n.",
    ],
)
def test_names_are_matched_exactly(write: Callable[[bytes], Path], content: bytes) -> None:
    with pytest.raises(UnsafeCheckpoint, match="the file asks for"):
        read_pdparams(write(content))


@pytest.mark.parametrize(
    "value",
    [
        np.array(["a", None], dtype=object),
        np.ones(2, np.int64),
        np.array([b"text"]),
        np.zeros(2, dtype=[("a", "f4")]),
    ],
    ids=["objects", "integers", "text", "fields"],
)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_other_arrays_are_refused(write: Callable[[bytes], Path], value: Any, protocol: int) -> None:
    with pytest.raises(CheckpointError, match="value is no array of finite floats"):
        read_pdparams(write(pickle.dumps({"value": value}, protocol=protocol)))


@pytest.mark.parametrize("value", [1.0, [1.0], "text", None, {"a": 1.0}, (1, 2)])
def test_values_that_are_no_arrays_are_refused(write: Callable[[bytes], Path], value: Any) -> None:
    with pytest.raises(CheckpointError, match="value is no array of finite floats"):
        read_pdparams(write(pickle.dumps({"value": value})))


@pytest.mark.parametrize("content", [[1], "text", {1: np.ones(1)}])
def test_what_is_no_dictionary_of_names_is_refused(write: Callable[[bytes], Path], content: Any) -> None:
    with pytest.raises(CheckpointError, match=r"fetch it again|1 is no array"):
        read_pdparams(write(pickle.dumps(content)))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(write: Callable[[bytes], Path], number: float) -> None:
    with pytest.raises(CheckpointError, match="value is no array of finite floats"):
        read_pdparams(write(pickle.dumps({"value": np.array([1.0, number], np.float32)})))


@pytest.mark.parametrize("length", [0, 1, 20, 100])
def test_a_file_that_was_cut_is_refused(write: Callable[[bytes], Path], length: int) -> None:
    with pytest.raises(CheckpointError, match="fetch it again"):
        read_pdparams(write(pickle.dumps(ARRAYS)[:length]))


def test_a_shape_that_does_not_fit_its_bytes_is_refused(write: Callable[[bytes], Path]) -> None:
    content = pickle.dumps({"value": np.ones((2, 3), np.float32)}, protocol=4)
    assert content.count(b"K\x02K\x03\x86") == 1
    with pytest.raises(CheckpointError, match="fetch it again"):
        read_pdparams(write(content.replace(b"K\x02K\x03\x86", b"K\x09K\x09\x86")))
