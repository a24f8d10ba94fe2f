"""Every number of the judge's training in one place, and the fingerprint that identifies a training."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from models.encoder.weights import WEIGHTS_SHA256

FOLDER = Path(__file__).parent
TABLES = ("relations.toml", "forms.toml", "facts.jsonl", "../kbert/practice.toml", "../packs/names.tsv")
HAND_FILES = "../../packs/world/phrasings"


@dataclass(frozen=True)
class Stage:
    """A part of the training, with a learning rate that falls to zero.

    Attributes:
        steps: Steps of the stage.
        lr: Highest learning rate of the layers.
        head_lr: Highest learning rate of the head that reads them.
        warmup: Steps of a rising rate.
        same: Share of the pairs that ask for the same.
        with_statement: Share of the pairs in which something else is said first.
        sentences: Share of the pairs whose sentences are to be completed.
        fact_share: Share of the pairs that are about written facts.
        pack: Share of the facts of relations that are of the pack's relations.
        other_relation: Weight of two relations of one subject among the kinds of different pairs.
    """

    steps: int
    lr: float
    head_lr: float
    warmup: int
    same: float
    with_statement: float
    sentences: float
    fact_share: float
    pack: float
    other_relation: int


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
        batch: Pairs of one step.
        pool: Pairs that are drawn together, and sorted by length.
        keep_every: Steps between two savings.
        smoothing: Distance of the wanted probability from 0 and 1.
        stages: Parts of the training, in order.
    """

    seed: int
    threads: int
    n_test: int
    n_choose: int
    n_choose_pack: int
    n_choose_facts: int
    batch: int
    pool: int
    keep_every: int
    smoothing: float
    stages: tuple[Stage, ...]

    @property
    def steps(self) -> int:
        """Return the steps of all stages; each stage ends with a whole pool."""
        return sum(self.length(stage) for stage in self.stages)

    def length(self, stage: Stage) -> int:
        """Return the steps of a stage, rounded up to whole pools."""
        per_pool = -(-self.pool // self.batch)
        return -(-stage.steps // per_pool) * per_pool

    def stage_at(self, step: int) -> tuple[Stage, int]:
        """Return the stage of a step, and how many steps of it are done."""
        for stage in self.stages:
            if step < self.length(stage):
                return stage, step
            step -= self.length(stage)
        return self.stages[-1], self.length(self.stages[-1])


DEFAULT = Plan(
    seed=5,
    threads=2,
    n_test=32,
    n_choose=12,
    n_choose_pack=6,
    n_choose_facts=150,
    batch=64,
    pool=1_024,
    keep_every=320,
    smoothing=0.01,
    stages=(
        Stage(3_000, 1e-4, 5e-4, 400, 0.46, 0.1, 0.15, 0.45, 0.3, 20),
        Stage(1_184, 8e-5, 2e-4, 32, 0.46, 0.05, 0.1, 0.3, 0.4, 120),
    ),
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
