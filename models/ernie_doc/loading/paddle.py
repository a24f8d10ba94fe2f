"""PaddleNLP's spelling of a checkpoint; no other file knows it.

The key names are those of PaddleNLP 2.8.1. Its linear weights are [in, out] and are transposed here; tables, norms and
biases are as in torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from models.checkpoint import CheckpointError, shorten
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc

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


@dataclass(frozen=True)
class Report:
    """The use of the tensors of a checkpoint.

    Attributes:
        applied: Names in the checkpoint that the model has taken.
        ignored: Names in the checkpoint that the model has no place for.
        missing: Names of the model that the checkpoint lacks; they keep their random values.
    """

    applied: tuple[str, ...]
    ignored: tuple[str, ...]
    missing: tuple[str, ...]


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
