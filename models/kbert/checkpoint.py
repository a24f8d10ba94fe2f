"""K-BERT models from files and to files, under UER's names or Hugging Face's (specs/kbert.md, section 9).

The authors load whatever happens to match, so a file with other names loads as noise. Here a model is loaded when
every tensor of it is in the file, in its shape, and the file holds no other encoder tensor; else CheckpointError
says what is wrong.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from models.checkpoint import CONFIG, WEIGHTS, CheckpointError, locate, read_config, read_tensors, shorten
from models.kbert.classifier import Classifier
from models.kbert.config import EncoderConfig, Norm
from models.kbert.encoder import Encoder, fresh
from models.kbert.names import SEGMENTS, Naming, detect, to_hf, to_uer, unwrapped
from models.kbert.pointer import Pointer
from models.kbert.pool import Pooling
from models.kbert.tagger import Tagger

M = TypeVar("M", Classifier, Tagger, Pointer)
OF_ENCODER = ("embedding.", "embeddings.", "encoder.")
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")  # in some of Hugging Face's files
TABLES = {
    "vocab_size": "embedding.word_embedding.weight",
    "max_positions": "embedding.position_embedding.weight",
    "segment_rows": SEGMENTS,
}


@dataclass(frozen=True)
class Stored:
    """A checkpoint that was read: its tensors under the authors' names, without prefixes."""

    folder: Path
    config: EncoderConfig
    tensors: Mapping[str, Tensor]


def stored(name_or_folder: str | Path, revision: str | None = None, norm: Norm | None = None) -> Stored:
    """A folder, or a hub name at `revision`.

    norm: which layer norm the weights were trained with; by default the one of whose names they bear, or what
    config.json says.
    """
    folder = locate(name_or_folder, revision)
    raw, found = read_config(folder), read_tensors(folder)
    tensors = {unwrapped(name): value for name, value in found.items()}
    naming = detect(tensors)
    if naming is None:
        some = ", ".join(sorted(found)[:3])
        raise CheckpointError(
            f"{folder} names its tensors neither as UER nor as Hugging Face's BERT: {some}, ..."
        )
    try:
        if naming == "hf":
            return Stored(folder, EncoderConfig.from_hf(raw, norm or "bert"), to_uer(tensors))
        sizes = {key: len(tensors[name]) for key, name in TABLES.items() if name in tensors}
        return Stored(folder, EncoderConfig.from_uer(sizes | raw, norm or raw.get("norm", "uer")), tensors)
    except ValueError as cause:
        raise CheckpointError(f"{folder / CONFIG}: {cause}") from cause


def load_encoder(checkpoint: Stored) -> Encoder:
    """In evaluation mode, as every model below. CheckpointError unless everything matches."""
    model = Encoder(checkpoint.config)
    _fill(model, checkpoint)
    return model.eval()


def load_classifier(
    checkpoint: Stored, pooling: Pooling, labels: int | None = None, pool_padding: bool = False
) -> Classifier:
    """labels: put a new head for so many classes on a checkpoint; else it holds one."""
    count = _labels(checkpoint, "output_layer_2") if labels is None else labels
    model = Classifier(Encoder(checkpoint.config), count, pooling, pool_padding)
    return _load(model, checkpoint, new_head=labels is not None)


def load_tagger(checkpoint: Stored, labels: int | None = None) -> Tagger:
    """labels: put a new head for so many tags, [PAD] and [ENT] counted, on a checkpoint; else it holds one."""
    count = _labels(checkpoint, "output_layer") if labels is None else labels
    return _load(Tagger(Encoder(checkpoint.config), count), checkpoint, new_head=labels is not None)


def load_pointer(checkpoint: Stored, new_head: bool = False) -> Pointer:
    """new_head: put one on a checkpoint; else it holds one."""
    return _load(Pointer(Encoder(checkpoint.config)), checkpoint, new_head)


def write(model: Encoder | Classifier | Tagger | Pointer, folder: Path, naming: Naming = "uer") -> None:
    """Leave the model in `folder`, in fp32; equal weights give equal bytes.

    ValueError: Hugging Face's BERT knows no other norm than its own.
    """
    config = model.config if isinstance(model, Encoder) else model.bert.config
    if naming == "hf" and config.norm != "bert":
        raise ValueError(
            f"a model with norm={config.norm!r} would compute something else as Hugging Face's BERT"
        )
    named = {unwrapped(name): value for name, value in model.state_dict().items()}
    tensors = to_hf(named) if naming == "hf" else named
    folder.mkdir(parents=True, exist_ok=True)
    about = config.hf() if naming == "hf" else config.uer()
    (folder / CONFIG).write_text(json.dumps(about, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    kept = {name: value.float().cpu().contiguous() for name, value in sorted(tensors.items())}
    save_file(kept, folder / WEIGHTS, metadata={"format": "pt"})


def _load(model: M, checkpoint: Stored, new_head: bool) -> M:
    if new_head:
        fresh(model)
        _fill(model.bert, checkpoint)
    else:
        _fill(model, checkpoint)
    return model.eval()


def _labels(checkpoint: Stored, head: str) -> int:
    bias = checkpoint.tensors.get(f"{head}.bias")
    if bias is None:
        raise CheckpointError(f"{checkpoint.folder} has no {head}: give `labels` to put a new head on it")
    return len(bias)


@torch.no_grad()
def _fill(model: nn.Module, checkpoint: Stored) -> None:
    expected = {unwrapped(name): value for name, value in model.state_dict().items()}
    found = checkpoint.tensors
    missing = sorted(set(expected) - set(found))
    extra = sorted(
        name for name in set(found) - set(expected) if name.startswith(OF_ENCODER) and name not in BUFFERS
    )
    odd = sorted(name for name in set(expected) & set(found) if expected[name].shape != found[name].shape)
    if missing or extra or odd:
        raise CheckpointError(f"{checkpoint.folder}: " + "; ".join(_complaints(missing, extra, odd)))
    for name, value in expected.items():
        value.copy_(found[name])


def _complaints(missing: list[str], extra: list[str], odd: list[str]) -> Iterator[str]:
    """Names are the authors': Hugging Face's were translated before."""
    if missing:
        yield f"missing {shorten(missing)}"
    if extra:
        yield f"the model has no {shorten(extra)}"
    if odd:
        yield f"of another shape than {CONFIG} says: {shorten(odd)}"
