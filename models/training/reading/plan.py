"""Every number of the reader's training, and the fingerprint by which a training is known."""

from dataclasses import asdict, dataclass
from pathlib import Path

from models.training.harness import fingerprint as harness
from models.training.reading.written.texts import DOCUMENTS, PASSAGES


@dataclass(frozen=True)
class Mixture:
    """The examples of a step.

    Attributes:
        composed_share: Share of passages that are made of facts.
        in_vain_share: Share of written texts that are asked a similar question about another text.
        exchange_share: Share of written texts with other names and numbers.
        distractor_share: Share of written texts with sentences of another one around them.
        echo_share: Share of written questions in the words of the sentence that answers them.
        elsewhere_share: Share of windows of long texts that lie anywhere, most often without the answer.
        slip: Share of written questions with a slip.
        bare: Share of written questions in small letters without a question mark.
    """

    composed_share: float
    in_vain_share: float
    exchange_share: float
    distractor_share: float
    echo_share: float
    elsewhere_share: float
    slip: float
    bare: float


@dataclass(frozen=True)
class Plan:
    """The recipe.

    Attributes:
        seed: Seed of all draws.
        length: Tokens of a row: question, window and special tokens.
        question_room: Tokens of a question.
        overlap: Tokens that two windows share.
        longest: Tokens of an answer.
        rows: Rows of a step.
        pretext_steps: First steps, whose questions are masked spans of free text.
        steps: All steps.
        keep_every: Steps between two savings of progress.
        warmup: Steps of rising rates, of each phase.
        lr: Learning rate of MiniLM's weights.
        head_lr: Learning rate of the head.
        decay: Weight decay.
        dropout: Share of numbers that are dropped.
        mixture: Examples of a step of the second phase.
    """

    seed: int
    length: int
    question_room: int
    overlap: int
    longest: int
    rows: int
    pretext_steps: int
    steps: int
    keep_every: int
    warmup: int
    lr: float
    head_lr: float
    decay: float
    dropout: float
    mixture: Mixture


DEFAULT = Plan(
    seed=1234,
    length=256,
    question_room=40,
    overlap=64,
    longest=24,
    rows=12,
    pretext_steps=1000,
    steps=2600,
    keep_every=25,
    warmup=50,
    lr=8e-5,
    head_lr=5e-4,
    decay=0.01,
    dropout=0.1,
    mixture=Mixture(
        composed_share=0.06,
        in_vain_share=0.08,
        exchange_share=0.35,
        distractor_share=0.15,
        echo_share=0.08,
        elsewhere_share=0.15,
        slip=0.1,
        bare=0.25,
    ),
)


def fingerprint(plan: Plan, pack: Path) -> str:
    """Return the fingerprint of a training."""
    texts = [*DOCUMENTS.glob("*.jsonl"), *PASSAGES.glob("*.jsonl")]
    return harness.fingerprint(asdict(plan), pack, texts)
