"""The state of a reading: the memory behind a segment and the name of all segments up to it.

A state's digest is a chain: the model and the packing, then the ids of each window. Equal digests are equal bits, so a
document that shares its beginning with another shares its states, and one that changed finds the last state before the
change by its name alone.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from threading import Lock

from cachetools import LRUCache
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class State:
    """The memory after some segments of a document."""

    origin: str  # digest of the model and of how documents are packed for it
    digest: str  # digest of the origin and all windows that were read
    n_segments: int
    n_tokens: int  # tokens of the document up to the end of the last
    memory: Float[Tensor, "layer slot width"]  # for the next segment, float32


class RecentStates:
    """The states that were used last. Threads may share it.

    Args:
        most_bytes: Bound of all states together; a state that is larger is not kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self._states: LRUCache[str, State] = LRUCache(most_bytes, getsizeof=lambda state: state.memory.nbytes)
        self._lock = Lock()

    def get(self, digest: str) -> State | None:
        """Return a state, or None if it is not there."""
        with self._lock:
            return self._states.get(digest)

    def put(self, state: State) -> None:
        """Keep a state for a while."""
        with self._lock, suppress(ValueError):  # the state is larger than the bound
            self._states[state.digest] = replace(state, memory=state.memory.cpu())


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
