"""Every number of the judge's training in one place, and the fingerprint that identifies a training."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from models.encoder.weights import WEIGHTS_SHA256

FOLDER = Path(__file__).parent
TABLES = (
    "relations.toml",
    "forms.toml",
    "facts.jsonl",
    *(
        f"crowds/{name}"
        for name in ("words.toml", "crowds.toml", "same_names.toml", "coverage.toml", "families.txt")
    ),
    "order/frames.txt",
    "order/figures.jsonl",
    "../kbert/practice.toml",
    "../packs/names.tsv",
)
HAND_FILES = "../../packs/world/phrasings"


@dataclass(frozen=True)
class Mix:
    """Shares of the pairs."""

    same: float  # share of the pairs that ask for the same
    crowds: float  # share of the pairs that are about names that nearly agree
    families: float  # share of the pairs that are about relations that stand side by side
    coverage: float  # share of the pairs that are about words that a fact may lack
    order: float  # share of the pairs that are about two names in one order or the other
    figures: float  # share of the pairs that are about figures and signs
    with_statement: float  # share of the other pairs in which something else is said first
    sentences: float  # share of the other pairs whose sentences are to be completed
    fact_share: float  # share of the other pairs that are about written facts
    pack: float  # share of the facts of relations that are of the pack's relations
    other_relation: int  # weight of two relations of one subject among the kinds of different pairs

    @property
    def near(self) -> float:
        """Share of the pairs about names that nearly agree, relations side by side, and words that a fact may lack."""
        return self.crowds + self.families + self.coverage


@dataclass(frozen=True)
class Plan:
    """Every number of the training."""

    seed: int  # seed of all draws
    threads: int  # threads that compute
    n_test: int  # practice relations kept for the test
    n_choose: int  # practice relations kept for choosing
    n_choose_pack: int  # relations of the pack kept for choosing
    n_choose_facts: int  # written facts kept for choosing
    held_voice: str  # file of the groups whose voice is kept for the test, whole
    batch: int  # pairs of one step
    pool: int  # pairs that are drawn together, and sorted by length
    keep_every_s: int  # seconds between two savings
    smoothing: float  # distance of the wanted probability from 0 and 1
    dropout: float  # share of the states that a layer drops
    turn_every: int  # steps of which one learns its pairs in both orders
    order: float  # weight of the squared difference between the verdicts on a pair in both orders
    # Highest learning rate of the layers; it rises at first, and falls to zero with the minutes of the
    # training
    lr: float
    head_lr: float  # highest learning rate of the head that reads them
    warmup: int  # steps of a rising rate
    mix: Mix  # shares of the pairs


DEFAULT = Plan(
    seed=5,
    threads=2,
    n_test=32,
    n_choose=12,
    n_choose_pack=6,
    n_choose_facts=150,
    held_voice="technical",
    batch=64,
    pool=1_024,
    keep_every_s=120,
    smoothing=0.01,
    dropout=0.2,
    turn_every=4,
    order=0.05,
    lr=1e-4,
    head_lr=4e-4,
    warmup=200,
    mix=Mix(0.46, 0.11, 0.06, 0.08, 0.34, 0.02, 0.08, 0.13, 0.55, 0.35, 50),
)


def fingerprint(plan: Plan, sets: Path) -> str:
    """Compute the SHA-256 of everything that determines the weights."""
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
