"""A `.pdparams` file gives arrays of floats, and anything else that it asks for is refused before it runs."""

import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.ernie_doc.paddle import STRUCTURE, UnsafeCheckpoint, read_pdparams
from models.kit.checkpoint import CheckpointError

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
