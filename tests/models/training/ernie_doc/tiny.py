"""A plan of a size that trains in a second."""

from dataclasses import replace

from models.training.ernie_doc.plan import DEFAULT, Plan

MODEL = replace(
    DEFAULT.model,
    width=24,
    layers=2,
    heads=2,
    inner=32,
    segment=48,
    memory=16,
    position_rows=2 * 48 + 16,
)
PLAN: Plan = replace(
    DEFAULT,
    model=MODEL,
    question_room=12,
    overlap=4,
    adaptation_steps=0,
    steps=6,
    keep_every=2,
    warmup=1,
    lr=1e-2,
    fresh_lr=1e-2,
    frozen=("embeddings.word_emb.",),
    mixture=replace(DEFAULT.mixture, n_composed=1, n_excerpts=0, n_passages=0, n_rows=6),
)
