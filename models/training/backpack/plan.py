"""Every number of this checkpoint's training in one place."""

from dataclasses import dataclass

from models.backpack.config import BackpackConfig


@dataclass(frozen=True)
class TextPlan:
    """The making of documents from facts.

    Attributes:
        p_statement: Share of the facts that a document states in place of asking for them.
        p_continue: Probability that a document continues with another fact of its subject, applied again after each.
        longest: Largest number of facts of one document.
        sparse: Every so many-th fact is asked in every second phrasing alone; the others test it.
        hands: Writers whose phrasings are trained on.
        held_hands: Writers whose phrasings are tested with.
    """

    p_statement: float
    p_continue: float
    longest: int
    sparse: int
    hands: tuple[int, ...]
    held_hands: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The recipe.

    Attributes:
        seed: Seed of all draws.
        model: Sizes of the Backpack.
        plain_layers: Blocks of the plain transformer that has as many parameters.
        vocab: Pieces of the tokenizer.
        texts: How documents are made.
        documents: Documents of one step.
        sorted_steps: Steps whose documents are sorted by length together, so that a step has little padding.
        steps: Steps of the training.
        keep_every: Steps between two savings of progress.
        warmup: Steps of a rising rate.
        lr: Highest learning rate.
        betas: Coefficients of AdamW.
        decay: Weight decay of matrices; norms, biases and embeddings have none.
        answer_weight: Weight of an answer's tokens in the loss; other tokens weigh 1.
    """

    seed: int
    model: BackpackConfig
    plain_layers: int
    vocab: int
    texts: TextPlan
    documents: int
    sorted_steps: int
    steps: int
    keep_every: int
    warmup: int
    lr: float
    betas: tuple[float, float]
    decay: float
    answer_weight: float


VOCAB = 4096
DEFAULT = Plan(
    seed=1234,
    model=BackpackConfig(
        vocab=VOCAB,
        words=VOCAB,
        senses=8,
        width=256,
        layers=5,
        heads=8,
        positions=256,
        epsilon=1e-5,
        end=0,
    ),
    plain_layers=9,
    vocab=VOCAB,
    texts=TextPlan(p_statement=0.15, p_continue=0.3, longest=3, sparse=10, hands=(1, 2), held_hands=(3,)),
    documents=128,
    sorted_steps=16,
    steps=4_000,
    keep_every=100,
    warmup=150,
    lr=1.5e-3,
    betas=(0.9, 0.95),
    decay=0.1,
    answer_weight=3.0,
)
