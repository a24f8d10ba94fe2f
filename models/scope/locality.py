"""How many edits the scope keeps apart: locality as measured at so many edits, and between the numbers that were tried.

`make bench-editing` writes it beside the checkpoint: the share of near questions that go on being answered as before,
the worse of those about the same relation and of those about the same subject, of the worst seed.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

EDITING = "editing.json"
ACCEPTABLE = 97.0  # per cent of near questions; below it a memory is full however many slots it has


@dataclass(frozen=True)
class Locality:
    """checkpoint: digest of the system's and the judge's. edits: how many were active, rising. locality: per cent."""

    checkpoint: str
    edits: Sequence[int]
    locality: Sequence[float]

    @staticmethod
    def load(folder: Path, digest: str) -> "Locality | None":
        """None where this very checkpoint was not measured."""
        path = folder / EDITING
        raw: Mapping[str, object] = json.loads(path.read_text()) if path.is_file() else {}
        return Locality(**raw) if raw.get("checkpoint") == digest else None  # type: ignore[arg-type]

    def save(self, folder: Path) -> None:
        (folder / EDITING).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @property
    def max_edits(self) -> int:
        return self.edits[-1]

    def margin(self, edits: int) -> float:
        """Points by which the expected locality lies above what is acceptable, by the logarithm of the edits.

        Beyond the largest number that was tried, as it is there.
        """
        place = bisect_left(self.edits, edits)
        if place == 0 or place == len(self.edits):
            return self.locality[min(place, len(self.edits) - 1)] - ACCEPTABLE
        (low, high), (before, after) = self.edits[place - 1 : place + 1], self.locality[place - 1 : place + 1]
        share = log(edits / low) / log(high / low)
        return before + share * (after - before) - ACCEPTABLE
