"""Vectors of texts that come again and again: relation labels, and questions with their mention masked."""

from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from jaxtyping import Float
from torch import Tensor


class Remembered:
    """At most `most` texts; the oldest go first. Thread-safe."""

    def __init__(self, read: Callable[[Sequence[str]], Float[Tensor, "text width"]], most: int) -> None:
        self._read = read
        self._most = most
        self._known: dict[str, Tensor] = {}
        self._lock = Lock()

    def of(self, texts: Iterable[str]) -> dict[str, Tensor]:
        """Text -> vector. Those that are new are read at once, in one batch, outside the lock."""
        wanted = dict.fromkeys(texts)
        with self._lock:
            found = {text: self._known[text] for text in wanted if text in self._known}
        new = [text for text in wanted if text not in found]
        if new:
            read = dict(zip(new, self._read(new), strict=True))
            found |= read
            self._keep(read)
        return found

    def _keep(self, read: dict[str, Tensor]) -> None:
        with self._lock:
            self._known |= read
            while len(self._known) > self._most:
                del self._known[next(iter(self._known))]
