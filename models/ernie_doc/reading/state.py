"""The state of a reading as one file: the memory behind a segment and the name of all segments up to it.

A state's digest is a chain: the model and the packing, then the ids of each window. Equal digests are equal bits, so a
document that shares its beginning with another shares its states, and one that changed finds the last state before the
change by its name alone.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

MEMORY = "memory"  # the tensor's name
HEADER_START = 8  # bytes that hold the length of the header in a safetensors file


class StateError(ValueError):
    """Bytes that are no state, or the state of another model. The sentence says which."""


@dataclass(frozen=True)
class State:
    """The memory after some segments of a document."""

    origin: str  # digest of the model and of how documents are packed for it
    digest: str  # digest of the origin and all windows that were read
    n_segments: int
    n_tokens: int  # tokens of the document up to the end of the last
    memory: Float[Tensor, "layer slot width"]  # for the next segment, float32

    def encode(self) -> bytes:
        """Return the state as safetensors bytes with a header and the digest of its content."""
        memory = self.memory.cpu().contiguous()
        header = {
            "origin": self.origin,
            "digest": self.digest,
            "n_segments": str(self.n_segments),
            "n_tokens": str(self.n_tokens),
            "content": content_digest(memory),
        }
        return save({MEMORY: memory}, header)


def decode(data: bytes) -> State:
    """Return the state that `encode` wrote.

    Raises:
        StateError: The bytes are no state, or were damaged.
    """
    try:
        memory = load(data)[MEMORY]
        header = json.loads(data[HEADER_START : HEADER_START + int.from_bytes(data[:HEADER_START], "little")])
        header = header["__metadata__"]
        state = State(
            header["origin"], header["digest"], int(header["n_segments"]), int(header["n_tokens"]), memory
        )
    except (SafetensorError, KeyError, ValueError) as cause:
        raise StateError(f"these bytes are no state of a document ({cause})") from cause
    if content_digest(memory) != header["content"]:
        raise StateError(f"the state {state.digest} is damaged")
    return state


def content_digest(memory: Float[Tensor, "layer slot width"]) -> str:
    """Return the SHA-256 of the numbers of a memory."""
    return hashlib.sha256(memory.numpy().tobytes()).hexdigest()


def name_digest(*parts: str) -> str:
    """Return the SHA-256 of some texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def chain(start: str, windows: Iterable[Int[Tensor, " _"]]) -> Iterator[str]:
    """Return the digest of the state after each window.

    Args:
        start: Digest of the state before the first.
        windows: Ids of each.
    """

    def extend(digest: str, ids: Int[Tensor, " part"]) -> str:
        return hashlib.sha256(digest.encode() + ids.int().numpy().tobytes()).hexdigest()

    digests = accumulate(windows, extend, initial=start)
    next(digests)
    return digests
