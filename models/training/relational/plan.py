"""Every number of this checkpoint's training in one place."""

from dataclasses import dataclass

from models.relational.config import Config


@dataclass(frozen=True)
class Mixture:
    """Shares of the examples.

    Attributes:
        hops: Relative frequency of questions of one, two and three hops.
        broken: Share of questions whose path lacks a fact.
        count: Share of questions for a number of values.
        yes_no: Share of questions for yes or no.
        other_label: Probability that a relation has another of its labels.
        near: Probability that a fact beside the path is of a relation that is easily taken for the right one.
        multiple: Probability that a fact has more than one value.
        slip: Probability of a slip in a word.
        bare: Probability of lower case, and of a missing question mark.
        most_facts: Largest number of facts beside the path at one entity.
        inverse: Probability that a hop leads from an object to a subject, for a reader that walks back.
    """

    hops: tuple[float, float, float]
    broken: float
    count: float
    yes_no: float
    other_label: float
    near: float
    multiple: float
    slip: float
    bare: float
    most_facts: int
    inverse: float


@dataclass(frozen=True)
class Plan:
    """One training.

    Attributes:
        seed: Seed of everything.
        threads: Threads of torch.
        n_tuning: Relations for practice that only calibration sees.
        held_compositions: One in so many compositions is held out of training.
        config: Sizes of the reader.
        mixture: Shares of the kinds of questions.
        steps: Steps of training.
        batch: Questions of a step.
        lr: Highest learning rate.
        warmup: Steps until it is reached.
        decay: Weight decay.
        keep_every: Steps between two states that an interrupted training continues from.
        n_exam: Questions of each group of the exam.
        max_declined: Share of right answers of the calibration that the threshold may decline.
    """

    seed: int
    threads: int
    n_tuning: int
    held_compositions: int
    config: Config
    mixture: Mixture
    steps: int
    batch: int
    lr: float
    warmup: int
    decay: float
    keep_every: int
    n_exam: int
    max_declined: float


TRAIN_HANDS, TEST_HANDS = (1, 2), (3,)  # writers whose words training reads, and whom only the exam does

DEFAULT = Plan(
    seed=1234,
    threads=2,
    n_tuning=12,
    held_compositions=10,
    config=Config(
        width=192, heads=6, layers=2, rank=64, hops=3, fan_out=64, max_nodes=512, beams=4, fan_in=32
    ),
    mixture=Mixture(
        hops=(0.35, 0.4, 0.25),
        broken=0.2,
        count=0.06,
        yes_no=0.1,
        other_label=0.35,
        near=0.5,
        multiple=0.2,
        slip=0.15,
        bare=0.25,
        most_facts=8,
        inverse=0.25,
    ),
    steps=6000,
    batch=64,
    lr=1e-3,
    warmup=200,
    decay=0.01,
    keep_every=500,
    n_exam=400,
    max_declined=0.02,
)
