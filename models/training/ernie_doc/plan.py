"""Every number of this checkpoint's training in one place, and the fingerprint that identifies a training."""

from dataclasses import asdict, dataclass
from pathlib import Path

from models.ernie_doc.config import ErnieDocConfig
from models.kit.checkpoint import WEIGHTS
from models.reading.checkpoint import DEFAULT as READER
from models.training.kit import fingerprint as harness
from models.training.reading.written.texts import DOCUMENTS, PASSAGES
from models.training.texts.phrasings import FOLDER as PHRASINGS


@dataclass(frozen=True)
class Mixture:
    """The documents and rows of one step."""

    n_composed: int  # documents made of the pack's facts
    n_excerpts: int  # parts of documents written by hand
    n_passages: int  # short passages written by hand
    excerpt_chars: int  # fewest characters of such a part, which consists of whole paragraphs
    n_rows: int  # windows with a question that are learned from
    present: float  # share of the rows whose window holds the answer, if there are so many
    memory_share: float  # largest share of these whose question needs the memory
    n_rivals: int  # windows without the answer that are drawn; the one most like the question becomes a row


@dataclass(frozen=True)
class Plan:
    """The recipe."""

    seed: int  # seed of all draws
    model: ErnieDocConfig  # sizes of the model
    question_room: int  # tokens of a question
    overlap: int  # tokens that windows share
    longest: int  # tokens of an answer
    frozen: tuple[str, ...]  # prefixes of the names of parameters that stay MiniLM's, and are not stored
    # Steps in which the model learns to return the reader's states, from memory and positions
    adaptation_steps: int
    steps: int  # all steps, the adaptation included
    keep_every: int  # steps between two savings of progress
    warmup: int  # steps of rising rates
    lr: float  # learning rate of the parameters from MiniLM
    fresh_lr: float  # learning rate of the others
    decay: float  # weight decay
    mixture: Mixture  # documents and rows of one step


SEGMENT, MEMORY = 192, 128
DEFAULT = Plan(
    seed=1234,
    model=ErnieDocConfig(
        vocab=30522,
        width=384,
        layers=6,
        heads=12,
        inner=1536,
        segment=SEGMENT,
        memory=MEMORY,
        position_rows=2 * SEGMENT + MEMORY,
        task_types=1,
        epsilon=1e-12,
        embedding_epsilon=1e-12,
        hidden_dropout=0.1,
        attention_dropout=0.0,
        inner_dropout=0.0,
        skips_padding=True,
        points=True,
    ),
    question_room=32,
    overlap=32,
    longest=24,
    frozen=("embeddings.word_emb.", "encoder.layers.0.ffn.", "pooler."),
    adaptation_steps=100,
    steps=900,
    keep_every=50,
    warmup=100,
    lr=1.5e-4,
    fresh_lr=6e-4,
    decay=0.01,
    mixture=Mixture(
        n_composed=1,
        n_excerpts=1,
        n_passages=3,
        excerpt_chars=1600,
        n_rows=16,
        present=0.6,
        memory_share=0.2,
        n_rivals=4,
    ),
)


def fingerprint(plan: Plan, pack: Path) -> str:
    """Return the fingerprint of a training."""
    texts = [path for folder in (DOCUMENTS, PASSAGES, PHRASINGS) for path in folder.glob("*.jsonl")]
    return harness.fingerprint(asdict(plan), pack, [*texts, READER / WEIGHTS])
