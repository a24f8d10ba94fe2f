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
    """Shares of the pairs.

    Attributes:
        same: Share of the pairs that ask for the same.
        crowds: Share of the pairs that are about names that nearly agree.
        families: Share of the pairs that are about relations that stand side by side.
        coverage: Share of the pairs that are about words that a fact may lack.
        order: Share of the pairs that are about two names in one order or the other.
        figures: Share of the pairs that are about figures and signs.
        with_statement: Share of the other pairs in which something else is said first.
        sentences: Share of the other pairs whose sentences are to be completed.
        fact_share: Share of the other pairs that are about written facts.
        pack: Share of the facts of relations that are of the pack's relations.
        other_relation: Weight of two relations of one subject among the kinds of different pairs.
    """

    same: float
    crowds: float
    families: float
    coverage: float
    order: float
    figures: float
    with_statement: float
    sentences: float
    fact_share: float
    pack: float
    other_relation: int

    @property
    def near(self) -> float:
        """Share of the pairs about names that nearly agree, relations side by side, and words that a fact may lack."""
        return self.crowds + self.families + self.coverage


@dataclass(frozen=True)
class Plan:
    """Every number of the training.

    Attributes:
        seed: Seed of all draws.
        threads: Threads that compute.
        n_test: Practice relations kept for the test.
        n_choose: Practice relations kept for choosing.
        n_choose_pack: Relations of the pack kept for choosing.
        n_choose_facts: Written facts kept for choosing.
        held_voice: File of the groups whose voice is kept for the test, whole.
        batch: Pairs of one step.
        pool: Pairs that are drawn together, and sorted by length.
        keep_every_s: Seconds between two savings.
        smoothing: Distance of the wanted probability from 0 and 1.
        dropout: Share of the states that a layer drops.
        turn_every: Steps of which one learns its pairs in both orders.
        order: Weight of the squared difference between the verdicts on a pair in both orders.
        lr: Highest learning rate of the layers; it rises at first, and falls to zero with the minutes of the training.
        head_lr: Highest learning rate of the head that reads them.
        warmup: Steps of a rising rate.
        mix: Shares of the pairs.
    """

    seed: int
    threads: int
    n_test: int
    n_choose: int
    n_choose_pack: int
    n_choose_facts: int
    held_voice: str
    batch: int
    pool: int
    keep_every_s: int
    smoothing: float
    dropout: float
    turn_every: int
    order: float
    lr: float
    head_lr: float
    warmup: int
    mix: Mix


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
