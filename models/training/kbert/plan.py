"""Every number of this checkpoint's training in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mixture:
    """Shares of the examples that are made; models/training/kbert/examples.py says how."""

    singles: int
    pairs: int
    pack: float
    real: float
    most_facts: int
    absent: float
    confusable: float
    p_replaced: float
    p_relabelled: float
    second: float
    noise: float
    slip: float
    bare: float


@dataclass(frozen=True)
class BendPlan:
    """The linear map of the rank; `folds` counts maps for the pointer, each of which has not seen some relations."""

    rank: int
    steps: int
    lr: float
    decay: float
    dropout: float
    temperature: float
    folds: int


@dataclass(frozen=True)
class Plan:
    """The whole recipe.

    Attributes:
        entities: Share of the subjects held out.
        n_tuning: Practice relations kept for thresholds.
        max_declined: Share of right candidates that the threshold of pairs may decline.
        frozen_layers: Number of first layers without adapters.
    """

    seed: int
    threads: int
    entities: float
    n_tuning: int
    max_length: int
    max_entities: int
    max_mentions: int
    lora_rank: int
    frozen_layers: int
    lora_alpha: int
    steps: int
    keep_every: int
    lr: float
    rank_lr: float
    warmup: int
    mixture: Mixture
    bend: BendPlan
    max_declined: float


DEFAULT = Plan(
    seed=1234,
    threads=2,
    entities=0.1,
    n_tuning=12,
    max_length=256,
    max_entities=6,
    max_mentions=4,
    lora_rank=8,
    frozen_layers=3,
    lora_alpha=16,
    steps=1500,
    keep_every=250,
    lr=1e-3,
    rank_lr=2e-2,
    warmup=100,
    mixture=Mixture(
        singles=32,
        pairs=6,
        pack=0.6,
        real=0.6,
        most_facts=8,
        absent=0.3,
        confusable=0.5,
        p_replaced=0.7,
        p_relabelled=0.35,
        second=0.12,
        noise=0.08,
        slip=0.08,
        bare=0.2,
    ),
    bend=BendPlan(rank=64, steps=200, lr=1e-3, decay=0.1, dropout=0.3, temperature=0.05, folds=3),
    max_declined=0.02,
)
