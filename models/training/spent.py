"""Seconds that each phase took, over all runs that it took: a resumed training still knows its whole cost."""

import json
from pathlib import Path

FILE = "spent.json"


def add(folder: Path, phase: str, seconds: float) -> None:
    known = spent(folder)
    known[phase] = known.get(phase, 0.0) + seconds
    (folder / FILE).write_text(json.dumps(known) + "\n")


def spent(folder: Path) -> dict[str, float]:
    path = folder / FILE
    return dict(json.loads(path.read_text())) if path.exists() else {}
