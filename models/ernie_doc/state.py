"""The state of a reading: the memory behind a segment and the name of all segments up to it.

A state's digest is a chain: the model and the packing, then the ids of each window. Equal digests are equal bits, so a
document that shares its beginning with another shares its states, and one that changed finds the last state before the
change by its name alone.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from jaxtyping import Float, Int
from torch import Tensor

from models.kit.batching import Cache


@dataclass(frozen=True)
class State:
    """The memory after some segments of a document."""

    digest: str  # digest of the model, of how documents are packed for it, and of all windows that were read
    memory: Float[Tensor, "layer slot width"]  # for the next segment, float32


def recent_states(most_bytes: int) -> Cache[str, State]:
    """Return a store of the states that were used last, by their digests; a state that is larger is not kept."""
    return Cache(most_bytes, lambda state: state.memory.nbytes)


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
