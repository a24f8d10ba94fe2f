"""States of documents in memory or as files, bounded in bytes; the least recently used is deleted first.

Files lie in one folder of one process, a file a state, named after its digest. What a restart finds there is used on,
in the order in which it was last used; a damaged file is deleted, for a state can always be read again.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Protocol, runtime_checkable

from cachetools import LRUCache

from models.ernie_doc.reading.state import State, StateError, decode


@runtime_checkable
class States(Protocol):
    """A store of states between readings. Threads may share it."""

    def get(self, digest: str) -> State | None:
        """Return a state, or None if it is not there."""

    def put(self, state: State) -> None:
        """Keep a state for a while."""


class RecentStates:
    """The most recently used states, in memory.

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


SUFFIX, PARTIAL = ".safetensors", ".partial"


class Files(LRUCache[str, int]):
    """Digest -> bytes of its file; dropping a digest deletes the file."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        super().__init__(most_bytes, getsizeof=int)
        self.folder = folder

    def path(self, digest: str) -> Path:
        """Return where a state lies."""
        return self.folder / f"{digest}{SUFFIX}"

    def popitem(self) -> tuple[str, int]:
        """Drop the digest that was used least recently, and its file."""
        digest, size = super().popitem()
        self.path(digest).unlink(missing_ok=True)
        return digest, size


class StateStore:
    """A folder of states. Thread-safe.

    Args:
        folder: Made if it is not there.
        most_bytes: Bound of all files together; a state that is larger is not kept.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._files, self._lock = Files(folder, most_bytes), Lock()
        for path in folder.glob(f"*{PARTIAL}"):
            path.unlink()
        paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            self._remember(path.stem, path.stat().st_size)

    def __contains__(self, digest: str) -> bool:
        return digest in self._files

    def get(self, digest: str) -> State | None:
        """Return a state, or None if it is not there or damaged."""
        with self._lock:
            if digest not in self._files:
                return None
            self._files[digest]  # counts as a use
            path = self._files.path(digest)
            try:
                state = decode(path.read_bytes())
                if state.digest != digest:
                    raise StateError(f"{path} holds the state {state.digest}")
                os.utime(path)
                return state
            except (OSError, StateError):
                self._files.pop(digest)
                path.unlink(missing_ok=True)
                return None

    def put(self, state: State) -> None:
        """Keep a state; the file is there whole or not at all."""
        content = state.encode()
        with self._lock:
            path = self._files.path(state.digest)
            partial = path.with_suffix(PARTIAL)
            partial.write_bytes(content)
            partial.replace(path)
            self._remember(state.digest, len(content))

    def _remember(self, digest: str, size: int) -> None:
        if size > self._files.maxsize:
            self._files.path(digest).unlink()
        else:
            self._files[digest] = size
