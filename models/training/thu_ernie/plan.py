"""Every number of this checkpoint's training in one place."""

from dataclasses import dataclass

from models.thu_ernie.answering.reader import Settings
from models.thu_ernie.config import ErnieConfig


@dataclass(frozen=True)
class TranslationPlan:
    """The training of the rows of entities.

    Attributes:
        epochs: Passes over the facts.
        batch: Facts of a step.
        lr: First learning rate.
        last_share: Share of it at the end.
        sharpness: Factor of the dot products of unit rows.
        head_weight: Weight of the loss that tells subjects, beside that of objects.
        norm: Length of the rows of entities in the table, without the first number.
        threshold: First number of each row of an entity or a value; 0 in those of relations. So one number of
            the row at a mask moves the logits of all candidates against the zero row's.
    """

    epochs: int
    batch: int
    lr: float
    last_share: float
    sharpness: float
    head_weight: float
    norm: float
    threshold: float


@dataclass(frozen=True)
class Mixture:
    """The examples of one step.

    Attributes:
        n_questions: Questions about entities.
        synthetic: Share of questions about an entity that is made up of random facts.
        edited_share: Share of questions about an entity whose row was solved for another fact.
        absent: Share of questions for a relation that the entity lacks.
        strange: Share of questions for a relation that no fact of the pack has.
        other_name: Share of questions in which the entity bears the name of another one: rows tell, not names.
        fallback: Share of right objects whose row is that to which subject and relation lead.
        unlinked_share: Share of mentions without a row, as in the pre-training; the mask keeps its own.
        replaced_share: Share of mentions with the row of another entity.
        rowless: Share of questions without any row, which only the type of the answer decides.
        most_distractors: Most candidates beside the entity's own.
        slip: Probability of a slip in a word.
        bare: Probability of lower case, and of a missing question mark.
    """

    n_questions: int
    synthetic: float
    edited_share: float
    absent: float
    strange: float
    other_name: float
    fallback: float
    unlinked_share: float
    replaced_share: float
    rowless: float
    most_distractors: int
    slip: float
    bare: float


@dataclass(frozen=True)
class Plan:
    """One training.

    Attributes:
        seed: Seed of everything that is drawn.
        config: Sizes of the network.
        settings: How the checkpoint reads.
        translation: How rows are trained.
        mixture: Mixture of a step's examples.
        frozen: Beginnings of names of parameters that stay MiniLM's, and are not stored.
        row_scale: Standard deviation of the new weights that read rows.
        query_gain: First gain of the norm before the alignment.
        threshold_gain: The same of its first number.
        all_weight: Weight of the loss that tells the answer from all answers.
        steps: All steps.
        keep_every: Steps between two savings of progress.
        warmup: Steps of rising rates.
        lr: Learning rate of MiniLM's weights.
        fresh_lr: Learning rate of the rest.
        decay: Weight decay.
        n_exam: Questions of each relation in the exam.
        n_edits: Edits of rows in the exam, each alone.
        n_joint_edits: Edits of rows in the exam that are active together.
        max_declined: Share of right answers that the threshold may decline.
    """

    seed: int
    config: ErnieConfig
    settings: Settings
    translation: TranslationPlan
    mixture: Mixture
    frozen: tuple[str, ...]
    row_scale: float
    query_gain: float
    threshold_gain: float
    all_weight: float
    steps: int
    keep_every: int
    warmup: int
    lr: float
    fresh_lr: float
    decay: float
    n_exam: int
    n_edits: int
    n_joint_edits: int
    max_declined: float


TRAIN_HANDS, TEST_HANDS = (1, 2), (3,)  # writers whose words training reads, and whom only the exam does

DEFAULT = Plan(
    seed=1234,
    config=ErnieConfig(
        vocab=30522,
        width=384,
        heads=12,
        inner=1536,
        positions=512,
        segments=2,
        kinds=("sim", "sim", "sim", "mix", "norm", "norm"),
        entity_size=100,
        entity_heads=4,
        dropout=0.1,
        attention_dropout=0.0,
        init_std=0.02,
    ),
    settings=Settings(question_room=64, subjects=4, margin=30.0),
    translation=TranslationPlan(
        epochs=14,
        batch=1024,
        lr=0.03,
        last_share=0.05,
        sharpness=20.0,
        head_weight=0.3,
        norm=10.0,
        threshold=10.0,
    ),
    mixture=Mixture(
        n_questions=64,
        synthetic=0.2,
        edited_share=0.2,
        absent=0.12,
        strange=0.1,
        other_name=0.4,
        fallback=0.05,
        unlinked_share=0.15,
        replaced_share=0.05,
        rowless=0.05,
        most_distractors=5,
        slip=0.12,
        bare=0.25,
    ),
    frozen=(
        "bert.embeddings.",
        "bert.encoder.layer.0.",
        "bert.encoder.layer.1.",
        "bert.encoder.layer.2.",
        "bert.pooler.",
    ),
    row_scale=0.05,
    query_gain=0.1,
    threshold_gain=0.5,
    all_weight=0.5,
    steps=1200,
    keep_every=25,
    warmup=80,
    lr=2e-4,
    fresh_lr=1e-3,
    decay=0.01,
    n_exam=25,
    n_edits=300,
    n_joint_edits=1000,
    max_declined=0.03,
)
