"""Every number of the judge's training in one place, and the fingerprint by which a training is known."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from models.encoder.weights import WEIGHTS_SHA256

FOLDER = Path(__file__).parent
TABLES = ("relations.toml", "forms.toml", "facts.jsonl", "../kbert/practice.toml", "../packs/names.tsv")
HAND_FILES = "../../packs/world/phrasings"


@dataclass(frozen=True)
class Plan:
    """n_test, n_choose: practice relations kept for the test and for choosing; n_choose_pack: of the pack.
    same: share of the pairs that ask for the same. with_statement: share in which something else is said first.
    sentences: share in which sentences are to be completed. pool: pairs
    drawn together, and sorted by length. smoothing: how far the wanted probability stays from 0 and 1.
    fact_share: share about written facts; n_choose_facts: of them, kept for choosing. pack: share of the facts of
    relations that are of the pack's.
    """

    seed: int
    threads: int
    n_test: int
    n_choose: int
    n_choose_pack: int
    steps: int
    batch: int
    pool: int
    keep_every: int
    lr: float
    head_lr: float
    warmup: int
    smoothing: float
    same: float
    with_statement: float
    sentences: float
    fact_share: float
    n_choose_facts: int
    pack: float


DEFAULT = Plan(
    seed=5,
    threads=2,
    n_test=32,
    n_choose=12,
    n_choose_pack=6,
    steps=3_000,
    batch=64,
    pool=1_024,
    keep_every=320,
    lr=1e-4,
    head_lr=5e-4,
    warmup=400,
    smoothing=0.01,
    same=0.46,
    with_statement=0.1,
    sentences=0.15,
    fact_share=0.45,
    n_choose_facts=150,
    pack=0.3,
)


def fingerprint(plan: Plan, sets: Path) -> str:
    """SHA-256 of all that the weights follow from."""
    files = [
        *(FOLDER / name for name in TABLES),
        *sorted((FOLDER / HAND_FILES).glob("*.jsonl")),
        *sorted((sets / "groups").glob("*.jsonl")),
        *sorted((sets / "pairs").glob("*.gz")),
    ]
    parts = {
        "plan": asdict(plan),
        "files": [hashlib.sha256(path.read_bytes()).hexdigest() for path in files],
        "encoder": WEIGHTS_SHA256,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
