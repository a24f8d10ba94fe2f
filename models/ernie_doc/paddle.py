"""PaddleNLP's checkpoints: their spelling, which no other file knows, and their conversion to ours.

The key names are those of PaddleNLP 2.8.1. Its linear weights are [in, out] and are transposed here; tables, norms and
biases are as in torch. A `.pdparams` file is a pickle of {name: numpy array} and one dictionary of names. It may name
what arrays need and nothing else, so no code of the file runs.

`python -m models.ernie_doc.paddle SOURCE TARGET`: convert a PaddleNLP checkpoint and print a report.
"""

import argparse
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch import Tensor

from models.ernie_doc.checkpoint import Settings, save
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc
from models.kit.checkpoint import CheckpointError, shorten
from models.reading.confidence import NO_SCALE

PADDLE_CONFIG, PADDLE_WEIGHTS = "model_config.json", "model_state.pdparams"
WORDS, MERGES = (
    "vocab.txt",
    "vocab.bpe",
)  # the second belongs to the English models, whose words are byte pairs
STRUCTURE = "StructuredToParameterName@@"  # PaddlePaddle's table of names beside the arrays
ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("_codecs", "encode"),  # by which old pickles write bytes
}
LONGEST = 100  # tokens of an answer, in the authors' scripts
PREFIX = "ernie_doc."  # the model's name in front of all keys but the task head's
LINEAR = ("_proj.weight", "linear1.weight", "linear2.weight", "dense.weight", "linear.weight")
EMBEDDING_EPSILON = 1e-5  # constant of the port's embedding norms, which its configuration leaves out
EPSILON = 1e-12  # the port's default
NAMES = {
    "vocab": "vocab_size",
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "memory": "memory_len",
    "task_types": "task_type_vocab_size",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_dropout_prob",
    "inner_dropout": "relu_dropout",
}
POSITIONS, SEGMENT = "max_position_embeddings", "segment_length"  # T; the second is there if it is another
ONLY = {"hidden_act": "gelu", "normalize_before": False}  # the values that this implementation computes
CLASSIFIER = "ErnieDocForSequenceClassification"  # the port's class of a model with labels
POOLS_FIRST = {-1: False, 0: True}  # the port's `cls_token_idx`
FEED_FORWARD = 4  # the port's inner width, in widths


class UnsafeCheckpoint(CheckpointError):
    """A pickle asks for more than arrays. The sentence names the refused object."""

    code = "unsafe_checkpoint"


@dataclass(frozen=True)
class Report:
    """The use of the tensors of a checkpoint, by name."""

    applied: tuple[str, ...]
    ignored: tuple[str, ...]  # the model has no place for them
    missing: tuple[str, ...]  # the checkpoint lacks them; they keep their random values


class ArrayUnpickler(pickle.Unpickler):
    """Knows the names in `ALLOWED` and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return an allowed object; raise UnsafeCheckpoint for any other."""
        today = module.replace("numpy.core.", "numpy._core.")
        if (today, name) not in ALLOWED:
            raise UnsafeCheckpoint(f"unsafe_checkpoint: the file asks for {module}.{name}; nothing was run")
        return super().find_class(today, name)


def read_pdparams(path: Path) -> dict[str, Tensor]:
    """Read the arrays of a `.pdparams` file by name.

    Raises:
        UnsafeCheckpoint: The file asks for more than arrays.
        CheckpointError: The file is damaged, or no dictionary of finite arrays of floats.
    """
    try:
        with path.open("rb") as file:
            content = ArrayUnpickler(file).load()
        arrays = {name: value for name, value in content.items() if name != STRUCTURE}
    except CheckpointError:
        raise
    except Exception as cause:  # a damaged pickle raises nearly everything
        raise CheckpointError(f"{path} is no whole pickle of arrays ({cause}): fetch it again") from cause
    for name, value in arrays.items():
        is_floats = isinstance(name, str) and isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if not is_floats or not np.isfinite(value).all():
            raise CheckpointError(f"{path}: {name} is no array of finite floats")
    return {name: torch.tensor(value.astype(np.float32)) for name, value in arrays.items()}


def read_config(raw: Mapping[str, Any]) -> ErnieDocConfig:
    """Translate `model_config.json`, whose sizes lie in the innermost `init_args`.

    Raises:
        CheckpointError: A size is missing, or the model is a kind that is not implemented.
    """
    sizes = _innermost(raw)
    for name, value in ONLY.items():
        if sizes.get(name, value) != value:
            raise CheckpointError(f"{name} is {sizes[name]!r}, and only {value!r} is implemented")
    missing = [name for name in (*NAMES.values(), POSITIONS) if name not in sizes]
    if missing:
        raise CheckpointError(f"the configuration lacks {shorten(missing)}")
    try:
        return ErnieDocConfig(
            **{field: sizes[name] for field, name in NAMES.items()},
            segment=sizes.get(SEGMENT, sizes[POSITIONS]),
            position_rows=2 * sizes[POSITIONS] + sizes["memory_len"],
            inner=FEED_FORWARD * sizes["hidden_size"],
            epsilon=sizes.get("epsilon", EPSILON),
            embedding_epsilon=EMBEDDING_EPSILON,
            shares_biases=sizes.get("rel_pos_params_sharing", False),
            classes=_read_classes(raw),
            pools_first=POOLS_FIRST[sizes.get("cls_token_idx", -1)],
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"the configuration describes no model ({cause})") from cause


def _read_classes(raw: Mapping[str, Any]) -> int:
    """Return the number of labels, 2 unless the file says another as the port does, and 0 for other models."""
    if CLASSIFIER not in (raw.get("init_class"), raw.get("model_class")):
        return 0
    classes: int = raw.get("num_classes", raw.get("num_labels", 2))
    return classes


def _innermost(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    for argument in raw.get("init_args", ()):
        if isinstance(argument, Mapping):
            return _innermost(argument)
    return raw


def load_weights(model: ErnieDoc, tensors: Mapping[str, Tensor]) -> Report:
    """Put a checkpoint's tensors into the model, in place.

    Raises:
        CheckpointError: A tensor has another shape than the model's, or the body of the model is not whole.
    """
    expected = model.state_dict()
    applied = [name for name in tensors if name.removeprefix(PREFIX) in expected]
    state = {
        name.removeprefix(PREFIX): tensors[name].T if name.endswith(LINEAR) else tensors[name]
        for name in applied
    }
    for name, value in state.items():
        if value.shape != expected[name].shape:
            raise CheckpointError(
                f"{name} has the shape {list(value.shape)}, and the configuration asks for "
                f"{list(expected[name].shape)}"
            )
    missing = [name for name in expected if name not in state]
    absent = [name for name in missing if not name.startswith("linear.")]
    if absent:
        raise CheckpointError(f"the checkpoint lacks {shorten(absent)}")
    model.load_state_dict(state, strict=False)
    ignored = tuple(name for name in tensors if name not in set(applied))
    return Report(tuple(applied), ignored, tuple(missing))


def convert(source: Path, target: Path, labels: Sequence[str] = ()) -> Report:
    """Write our checkpoint of PaddleNLP's folder, and report what became of each tensor.

    Args:
        source: Holds `model_config.json` and `model_state.pdparams`, and maybe `vocab.txt`.
        target: Made if it is not there.
        labels: Names of the labels of a model for sequence classification, in the order of its training.

    Raises:
        CheckpointError: A file is missing, damaged or unsafe, or describes another model, or there are more or fewer
            labels.
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
    config = model.config
    if labels and len(labels) != config.classes:
        raise CheckpointError(f"{len(labels)} names were given for the {config.classes} labels of {source}")
    report = load_weights(model, read_pdparams(source / PADDLE_WEIGHTS))
    has_spans = not config.classes and not report.missing
    # A head for spans was trained elsewhere, and nothing has calibrated its scores.
    settings = Settings(config.segment // 4, config.segment // 8, LONGEST, NO_SCALE) if has_spans else None
    save(model, target, settings=settings, labels=labels, tokenizer=_read_words(source))
    return report


def _read_words(source: Path) -> Tokenizer | None:
    """Return the tokenizer of a model whose words are pieces as BERT's; None where there is none."""
    if not (source / WORDS).is_file() or (source / MERGES).is_file():
        return None
    return Tokenizer.from_str(BertWordPieceTokenizer(str(source / WORDS), lowercase=True).to_str())


def main() -> None:
    """Convert, and exit with 1 and a sentence if that is not possible."""
    parser = argparse.ArgumentParser(
        description="Convert a PaddleNLP checkpoint of ERNIE-Doc to safetensors."
    )
    parser.add_argument("source", type=Path, help="folder with model_config.json and model_state.pdparams")
    parser.add_argument("target", type=Path, help="folder to write")
    parser.add_argument(
        "--labels", nargs="+", default=(), help="names of a classifier's labels, in their order"
    )
    arguments = parser.parse_args()
    try:
        report = convert(arguments.source, arguments.target, arguments.labels)
    except CheckpointError as error:
        sys.exit(str(error))
    lines = [f"{len(report.applied)} tensors used"]
    lines += [f"not used: {name}" for name in report.ignored]
    lines += [f"random, for the checkpoint lacks it: {name}" for name in report.missing]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
