"""Arrays out of a `.pdparams` file, which is a pickle, without running anything that the file asks for.

PaddlePaddle writes {name: numpy array} and one dictionary of names. The opcodes are checked before anything is built;
then the few names that arrays need are matched exactly, and each stands for a function of this file, not for numpy's.
Whatever else a pickle names, it is refused with that name.
"""

import io
import pickle
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.checkpoint import CheckpointError

Floats = NDArray[np.floating]
STRUCTURE = "StructuredToParameterName@@"  # PaddlePaddle's table of names beside the arrays
MOST_BYTES = 4 * 2**30  # largest file that is read
MOST_OPCODES = 2_000_000  # largest number of steps of a pickle; a model of 24 layers takes some 20,000
MOST_MEMOS = 1_000_000  # largest number of the memo; a larger one makes the unpickler allocate a table
MOST_MARKS = 8  # deepest nesting of a dictionary of arrays, with room to spare
MOST_AXES = 4  # most axes of an array; a model has matrices
FLOATS = {"f2": np.float16, "f4": np.float32, "f8": np.float64}
DTYPE_STATE = (3, "<", None, None, None, -1, -1, 0)  # state of a plain little-endian number
ARRAY_STATE_VERSION = 1
EXTENSIONS = frozenset({"EXT1", "EXT2", "EXT4"})
PERSISTENT = frozenset({"PERSID", "BINPERSID"})
FORBIDDEN = EXTENSIONS | PERSISTENT | {"INST", "OBJ", "NEWOBJ_EX", "NEXT_BUFFER", "READONLY_BUFFER"}
MEMO_WRITES = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})


class UnsafeCheckpoint(CheckpointError):
    """A pickle asks for more than arrays. The sentence names the refused object."""

    code = "unsafe_checkpoint"


@dataclass
class Dtype:
    """A floating-point type as a pickle describes it: made first, then given its state.

    No error repeats what the file holds at length: a small pickle can describe a text without end.
    """

    name: Any
    align: Any
    copy: Any

    def __setstate__(self, state: Any) -> None:
        if state != DTYPE_STATE:
            raise UnsafeCheckpoint("unsafe_checkpoint: an array of other than plain little-endian numbers")

    def resolve(self) -> np.dtype[Any]:
        """Return numpy's type.

        Raises:
            UnsafeCheckpoint: It is no little-endian floating-point type.
        """
        if not isinstance(self.name, str) or self.name not in FLOATS:
            name = self.name[:20] if isinstance(self.name, str) else type(self.name).__name__
            raise UnsafeCheckpoint(
                f"unsafe_checkpoint: an array of {name!r}; only {', '.join(FLOATS)} are read"
            )
        return np.dtype(FLOATS[self.name])


class Array:
    """An array as a pickle describes it: made empty, then given its state."""

    value: Floats | None = None

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5 or state[0] != ARRAY_STATE_VERSION:
            raise UnsafeCheckpoint("unsafe_checkpoint: an array whose state is not numpy's")
        _, shape, dtype, is_fortran, content = state
        self.value = build_array(content, dtype, shape, "F" if is_fortran else "C")


def build_array(content: Any, dtype: Any, shape: Any, order: Any) -> Floats:
    """Build an array from its bytes.

    Raises:
        UnsafeCheckpoint: Bytes, type, shape and order do not make an array of floats.
    """
    is_shape = isinstance(shape, tuple) and len(shape) <= MOST_AXES
    is_shape = is_shape and all(type(size) is int and size >= 0 for size in shape)
    if not isinstance(dtype, Dtype) or not is_shape or order not in ("C", "F"):
        raise UnsafeCheckpoint("unsafe_checkpoint: an array whose type, shape or order is not numpy's")
    if not isinstance(content, bytes | bytearray):
        raise UnsafeCheckpoint(f"unsafe_checkpoint: an array of {type(content).__name__}, not of bytes")
    number = dtype.resolve()
    if prod(shape) * number.itemsize != len(content):
        raise UnsafeCheckpoint(
            f"unsafe_checkpoint: an array whose shape does not fit its {len(content)} bytes"
        )
    return np.frombuffer(content, number).reshape(shape, order=order)


def reconstruct(kind: Any, shape: Any, typecode: Any) -> Array:
    """Stand for numpy's `_reconstruct`, which makes an empty array of a class."""
    if kind is not Array or shape != (0,) or typecode not in (b"b", "b"):
        raise UnsafeCheckpoint("unsafe_checkpoint: numpy's _reconstruct with other arguments than numpy's")
    return Array()


def encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Stand for `_codecs.encode`, by which old pickles write bytes."""
    if not isinstance(text, str) or encoding != "latin1":
        raise UnsafeCheckpoint("unsafe_checkpoint: _codecs.encode of something else than text in latin1")
    return text.encode("latin1")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A function that a pickle may call and cannot change: its opcode BUILD would set attributes of a bare function."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise UnsafeCheckpoint("unsafe_checkpoint: the file sets attributes of a function")


ALLOWED: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): StandIn(reconstruct),
    ("numpy._core.multiarray", "_reconstruct"): StandIn(reconstruct),
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): Dtype,
    ("numpy.core.numeric", "_frombuffer"): StandIn(build_array),
    ("numpy._core.numeric", "_frombuffer"): StandIn(build_array),
    ("_codecs", "encode"): StandIn(encode),
}


class ArrayUnpickler(pickle.Unpickler):
    """Knows the names in `ALLOWED` and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the function of this file that a name stands for.

        Raises:
            UnsafeCheckpoint: The name is not in `ALLOWED`.
        """
        if (module, name) not in ALLOWED:
            raise UnsafeCheckpoint(f"unsafe_checkpoint: the file asks for {module}.{name}; nothing was run")
        return ALLOWED[module, name]


def read_pdparams(path: Path) -> dict[str, Floats]:
    """Read the arrays of a `.pdparams` file by name.

    Raises:
        UnsafeCheckpoint: The file asks for more than arrays of floats.
        CheckpointError: The file is too large, damaged, or no dictionary of arrays.
    """
    if path.stat().st_size > MOST_BYTES:
        raise CheckpointError(f"{path} has {path.stat().st_size} bytes, and at most {MOST_BYTES} are read")
    content = path.read_bytes()
    try:
        scan(content)
        raw = ArrayUnpickler(io.BytesIO(content)).load()
    except CheckpointError:
        raise
    except Exception as cause:  # a damaged pickle raises nearly everything
        raise CheckpointError(f"{path} is no whole pickle ({cause}): fetch it again") from cause
    return check_arrays(raw, path)


def scan(content: bytes) -> None:
    """Check the opcodes of a pickle without running them.

    Raises:
        UnsafeCheckpoint: An opcode is forbidden, or there are too many, too deep or too far.
        ValueError: The pickle is damaged.
    """
    marks = 0
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name in FORBIDDEN:
            raise UnsafeCheckpoint(f"unsafe_checkpoint: the file uses the opcode {opcode.name}")
        if opcode.name in MEMO_WRITES and int(argument or 0) > MOST_MEMOS:
            raise UnsafeCheckpoint(f"unsafe_checkpoint: the file writes place {argument} of the memo")
        marks += (opcode.name == "MARK") - (pickletools.markobject in opcode.stack_before)
        if marks > MOST_MARKS or number > MOST_OPCODES:
            raise UnsafeCheckpoint("unsafe_checkpoint: the file is nested too deeply or has too many steps")


def check_arrays(raw: Any, path: Path) -> dict[str, Floats]:
    """Return the arrays of an unpickled dictionary, without PaddlePaddle's table of names.

    Raises:
        CheckpointError: There is something else than finite arrays under texts.
    """
    if type(raw) is not dict or not all(type(name) is str for name in raw):
        raise CheckpointError(f"{path} is no dictionary of names")
    arrays = {}
    for name, value in raw.items():
        if name == STRUCTURE:
            continue
        array = value.value if isinstance(value, Array) else value
        if not isinstance(array, np.ndarray):
            raise CheckpointError(f"{path}: {name} is no array of floats")
        if not np.isfinite(array).all():
            raise CheckpointError(f"{path}: {name} has numbers that are not finite")
        arrays[name] = array
    return arrays
