"""Every number of the reader's training, and the fingerprint by which a training is known."""

from dataclasses import asdict, dataclass
from pathlib import Path

from models.training.kit import fingerprint as harness
from models.training.reading.written.texts import DOCUMENTS, PASSAGES


@dataclass(frozen=True)
class Mixture:
    """The examples of a step."""

    composed_share: float  # share of passages that are made of facts
    in_vain_share: float  # share of written texts that are asked a similar question about another text
    exchange_share: float  # share of written texts with other names and numbers
    distractor_share: float  # share of written texts with sentences of another one around them
    echo_share: float  # share of written questions in the words of the sentence that answers them
    elsewhere_share: float  # share of windows of long texts that lie anywhere, most often without the answer
    slip: float  # share of written questions with a slip
    bare: float  # share of written questions in small letters without a question mark


@dataclass(frozen=True)
class Plan:
    """The recipe."""

    seed: int  # seed of all draws
    length: int  # tokens of a row: question, window and special tokens
    question_room: int  # tokens of a question
    overlap: int  # tokens that two windows share
    longest: int  # tokens of an answer
    rows: int  # rows of a step
    pretext_steps: int  # first steps, whose questions are masked spans of free text
    steps: int  # all steps
    keep_every: int  # steps between two savings of progress
    warmup: int  # steps of rising rates, of each phase
    lr: float  # learning rate of MiniLM's weights
    head_lr: float  # learning rate of the head
    decay: float  # weight decay
    dropout: float  # share of numbers that are dropped
    mixture: Mixture  # examples of a step of the second phase


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
