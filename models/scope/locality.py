"""The number of edits that the scope keeps apart: locality, measured at some numbers of edits and interpolated.

`make bench-editing` writes the measurement beside the checkpoint: the share of near questions whose answers do not
change, for the worst seed and the worse of two kinds, questions about the same relation and about the same subject.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

EDITING = "editing.json"
ACCEPTABLE = 97.0  # per cent of near questions; below it a memory is full, however many slots it has


@dataclass(frozen=True)
class Locality:
    """A measurement."""

    checkpoint: str  # digest of the system's checkpoint and the judge's
    edits: Sequence[int]  # numbers of active edits, ascending
    locality: Sequence[float]  # locality at each number, in per cent

    @staticmethod
    def load(folder: Path, digest: str) -> "Locality | None":
        """Read the measurement of a checkpoint; None if there is none for this digest."""
        path = folder / EDITING
        raw: Mapping[str, object] = json.loads(path.read_text()) if path.is_file() else {}
        return Locality(**raw) if raw.get("checkpoint") == digest else None  # type: ignore[arg-type]

    def save(self, folder: Path) -> None:
        """Write the measurement beside the checkpoint."""
        (folder / EDITING).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @property
    def max_edits(self) -> int:
        """The largest number of edits that was measured."""
        return self.edits[-1]

    def margin(self, edits: int) -> float:
        """Return the points by which the expected locality exceeds the acceptable one.

        Between two measured numbers it follows the logarithm of the edits; beyond the largest it stays constant.
        """
        place = bisect_left(self.edits, edits)
        if place == 0 or place == len(self.edits):
            return self.locality[min(place, len(self.edits) - 1)] - ACCEPTABLE
        (low, high), (before, after) = self.edits[place - 1 : place + 1], self.locality[place - 1 : place + 1]
        share = log(edits / low) / log(high / low)
        return before + share * (after - before) - ACCEPTABLE
