"""The maps of the rank, kept in the work folder: learning them is quick, but not on a busy machine."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.kbert.relevance import Relevance
from models.training import spent
from models.training.kbert.bend import learn
from models.training.kbert.plan import Plan
from models.training.kbert.relations import Known

FILE, FINGERPRINT = "maps.safetensors", "fingerprint"


def learned(
    relevance: Relevance,
    train: Sequence[Known],
    folds: Sequence[set[str]],
    plan: Plan,
    work: Path,
    fingerprint: str,
    say: Callable[[str], None],
) -> list[Tensor]:
    """The final map, then one for each fold that has not seen the relations of the fold."""
    path = work / FILE
    if path.exists() and _fingerprint(path) == fingerprint:
        kept = load_file(path)
        return [kept[str(number)] for number in range(1 + len(folds))]
    started = time.monotonic()
    seen = [train, *([one for one in train if one.id not in fold] for fold in folds)]
    maps = [learn(relevance, some, plan.bend, plan.seed) for some in seen]
    save_file(
        {str(number): one.contiguous() for number, one in enumerate(maps)}, path, {FINGERPRINT: fingerprint}
    )
    seconds = time.monotonic() - started
    spent.add(work, "maps", seconds)
    say(f"maps of the rank: 1 on all {len(train)} relations, {len(folds)} on some; {seconds:.0f} s")
    return maps


def _fingerprint(path: Path) -> str | None:
    with safe_open(path, "pt") as kept:
        return (kept.metadata() or {}).get(FINGERPRINT)
