"""Converts PaddleNLP's folder to ours, with a report on every tensor."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer

from models.checkpoint import CheckpointError
from models.ernie_doc.loading.checkpoint import Settings, save
from models.ernie_doc.loading.paddle import Report, load_weights, read_config
from models.ernie_doc.loading.pickles import read_pdparams
from models.ernie_doc.model import ErnieDoc
from models.reading.confidence import NO_SCALE

PADDLE_CONFIG, PADDLE_WEIGHTS = "model_config.json", "model_state.pdparams"
WORDS, MERGES = (
    "vocab.txt",
    "vocab.bpe",
)  # the second belongs to the English models, whose words are byte pairs
LONGEST = 100  # tokens of an answer, in the authors' scripts


def convert(source: Path, target: Path, labels: Sequence[str] = ()) -> Report:
    """Write our checkpoint of PaddleNLP's folder.

    Args:
        source: Holds `model_config.json` and `model_state.pdparams`, and maybe `vocab.txt`.
        target: Made if it is not there.
        labels: Names of the labels of a model for sequence classification, in the order of its training.

    Returns:
        Tensors that were used, those that were not, and weights of the model that are random.

    Raises:
        UnsafeCheckpoint: The pickle asks for more than arrays of floats; nothing of it was run.
        CheckpointError: A file is missing or damaged, or describes another model, or there are more or fewer labels.
    """
    for name in (PADDLE_CONFIG, PADDLE_WEIGHTS):
        if not (source / name).is_file():
            raise CheckpointError(
                f"{source / name} is missing: give PaddleNLP's folder, which has both files"
            )
    try:
        raw = json.loads((source / PADDLE_CONFIG).read_text(encoding="utf-8"))
    except ValueError as cause:
        raise CheckpointError(f"{source / PADDLE_CONFIG} is not JSON: {cause}") from cause
    if not isinstance(raw, dict):
        raise CheckpointError(f"{source / PADDLE_CONFIG} is not a JSON object")
    model = ErnieDoc(read_config(raw))
    if labels and len(labels) != model.config.classes:
        raise CheckpointError(
            f"{len(labels)} names were given for the {model.config.classes} labels of {source}"
        )
    arrays = read_pdparams(source / PADDLE_WEIGHTS)
    tensors = {name: torch.tensor(array, dtype=torch.float32) for name, array in arrays.items()}
    report = load_weights(model, tensors)
    has_spans = not model.config.classes and not report.missing
    settings = choose_settings(model.config.segment) if has_spans else None
    save(model, target, settings=settings, labels=labels, tokenizer=_read_words(source))
    return report


def choose_settings(segment: int) -> Settings:
    """Return how a model reads whose head for spans was trained elsewhere; nothing has calibrated its scores."""
    return Settings(segment // 4, segment // 8, LONGEST, NO_SCALE)


def _read_words(source: Path) -> Tokenizer | None:
    """Return the tokenizer of a model whose words are pieces as BERT's; None where there is none."""
    if not (source / WORDS).is_file() or (source / MERGES).is_file():
        return None
    return Tokenizer.from_str(BertWordPieceTokenizer(str(source / WORDS), lowercase=True).to_str())
