"""A `.pdparams` file gives arrays of floats, and anything else that it asks for is refused before it runs."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.checkpoint import CheckpointError
from models.ernie_doc.loading import pickles
from models.ernie_doc.loading.pickles import UnsafeCheckpoint, read_pdparams

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
    content = {**ARRAYS, pickles.STRUCTURE: {"matrix": "w_0"}}
    arrays = read_pdparams(write(pickle.dumps(content, protocol=protocol)))
    assert arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], expected)
        assert arrays[name].dtype == expected.dtype


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


def test_a_file_above_the_limit_is_refused_before_it_is_read(
    write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(pickle.dumps(ARRAYS))
    monkeypatch.setattr(pickles, "MOST_BYTES", 10)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(CheckpointError, match="at most 10 are read"):
        read_pdparams(path)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["a", None], dtype=object),
        np.ones(2, np.int64),
        np.ones(2, ">f4"),
        np.array([b"text"]),
        np.zeros(2, dtype=[("a", "f4")]),
        np.ones((1,) * 5, np.float32),
    ],
    ids=["objects", "integers", "big endian", "text", "fields", "five axes"],
)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_other_arrays_are_refused(write: Callable[[bytes], Path], value: Any, protocol: int) -> None:
    with pytest.raises(CheckpointError, match="unsafe_checkpoint"):
        read_pdparams(write(pickle.dumps({"value": value}, protocol=protocol)))


@pytest.mark.parametrize("length", [0, 1, 20, 100])
def test_a_file_that_was_cut_is_refused(write: Callable[[bytes], Path], length: int) -> None:
    with pytest.raises(CheckpointError, match="fetch it again"):
        read_pdparams(write(pickle.dumps(ARRAYS)[:length]))


@pytest.mark.parametrize(
    ("content", "opcode"),
    [
        (b"Pwherever\n.", "PERSID"),
        (b"\x8c\x01aQ.", "BINPERSID"),
        (b"(iposix\nsystem\n.", "INST"),
        (b"(cposix\nsystem\no.", "OBJ"),
        (b"\x82\x01.", "EXT1"),
    ],
)
def test_opcodes_that_arrays_do_not_need_are_refused(
    write: Callable[[bytes], Path], content: bytes, opcode: str
) -> None:
    with pytest.raises(UnsafeCheckpoint, match=f"the opcode {opcode}"):
        read_pdparams(write(content))
