"""Keys of questions asked lately: the probes of one edit are those of the next, and reading them costs most."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.reader import Reader

KEPT = 8_192  # questions; 3 kB each


class RecentKeys:
    """The one asked longest ago leaves first. Safe to use from several threads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: OrderedDict[str, tuple[Tensor, Tensor]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, questions: Sequence[str]) -> tuple[Float[Tensor, "batch key"], Int[Tensor, " batch"]]:
        """Keys and numbers, as `Reader.read` gives them."""
        with self._lock:
            found = {q: self._known[q] for q in questions if q in self._known}
        missing = [q for q in dict.fromkeys(questions) if q not in found]
        if missing:
            read = self._reader.read(missing)
            found |= dict(zip(missing, zip(read.keys, read.numbers, strict=True), strict=True))
        self._remember(found)
        keys, numbers = zip(*(found[question] for question in questions), strict=True)
        return torch.stack(keys), torch.stack(numbers)

    def _remember(self, found: dict[str, tuple[Tensor, Tensor]]) -> None:
        with self._lock:
            self._known.update(found)
            for question in found:
                self._known.move_to_end(question)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
