"""Our checkpoint of ERNIE-Doc: a folder that is loaded without unpickling anything.

tokenizer.json      its words, if they are not MiniLM's
config.json         model_type `ernie-doc`, the sizes and switches, and where other weights come from
model.safetensors   the weights under PaddleNLP's names without its prefix
SHA256SUMS          what both have to be

A checkpoint with the base `minilm` leaves out what equals MiniLM's weights, such as its word table, which is nearly
half of the model and lies on every machine anyway.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from models.checkpoint import (
    ADVICE,
    CONFIG,
    WEIGHTS,
    CheckpointError,
    read_verified,
    shorten,
    write_sums,
)
from models.confidence import Confidence
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.loading.minilm import minilm_weights
from models.ernie_doc.model import ErnieDoc

MODEL_TYPE = "ernie-doc"
TOKENIZER = "tokenizer.json"
FILES = (CONFIG, WEIGHTS)
Base = Literal["none", "minilm"]


@dataclass(frozen=True)
class Settings:
    """The settings with which a model reads documents, in tokens."""

    question_room: int
    overlap: int  # shared by windows
    longest: int  # size of an answer
    confidence: Confidence
    reader_share: float = 0.0  # share of the reader of all systems in what a window says


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with its digest."""

    model: ErnieDoc  # in evaluation mode, without gradients
    digest: str  # `sha256:...` of the files; states of another digest belong to another model
    settings: Settings | None = None  # None for a model whose head for spans is not trained
    labels: tuple[str, ...] = ()  # names of the labels of a model that has several, if they are known
    tokenizer: Tokenizer | None = None  # if its words are not MiniLM's


def save(
    model: ErnieDoc,
    folder: Path,
    base: Base = "none",
    dtype: torch.dtype = torch.float32,
    settings: Settings | None = None,
    labels: Sequence[str] = (),
    tokenizer: Tokenizer | None = None,
) -> None:
    """Write a checkpoint folder; equal weights give equal bytes.

    Args:
        model: Model to write.
        folder: Made if it is not there.
        base: `minilm` leaves out tensors that equal MiniLM's.
        dtype: Type of the tensors on disk; `load` gives float32.
        settings: How it reads documents.
        labels: Names of the labels of a model that has several.
        tokenizer: Its words, if they are not MiniLM's.
    """
    state = unique_state(model)
    encoder = minilm_weights(state) if base == "minilm" else {}
    tensors = {
        name: value.to(dtype).contiguous()
        for name, value in sorted(state.items())
        if name not in encoder or not value.equal(encoder[name])
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / WEIGHTS)
    config = {
        "model_type": MODEL_TYPE,
        "base": base,
        "model": asdict(model.config),
        "reading": asdict(settings) if settings else None,
        **({"labels": list(labels)} if labels else {}),
        **({"tokenizer": TOKENIZER} if tokenizer else {}),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    if tokenizer:
        tokenizer.save(str(folder / TOKENIZER))
    write_sums(folder, (*FILES, TOKENIZER) if tokenizer else FILES)


def load(folder: Path, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Checkpoint:
    """Load a checkpoint folder.

    Raises:
        CheckpointError: A file is missing, damaged or of another model; the text names it.
        EncoderNotFound: The checkpoint needs MiniLM, whose files are missing.
    """
    contents = read_verified(folder, FILES)
    config = contents.json(CONFIG)
    if "tokenizer" in config:
        contents = read_verified(folder, (*FILES, TOKENIZER))
    if config.get("model_type") != MODEL_TYPE:
        raise CheckpointError(
            f"{folder} is a checkpoint of {config.get('model_type')!r}, not of {MODEL_TYPE!r}"
        )
    try:
        model, raw = ErnieDoc(ErnieDocConfig(**config["model"])), config.get("reading")
        settings = _parse_settings(raw) if raw is not None else None
        tensors = {name: value.float() for name, value in contents.tensors(WEIGHTS).items()}
    except (KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause
    base = minilm_weights(model.state_dict()) if config.get("base") == "minilm" else {}
    fill(model, base | tensors, folder)
    return Checkpoint(
        model.to(device, dtype).eval().requires_grad_(False),
        contents.digest,
        settings,
        tuple(config.get("labels", ())),
        contents.tokenizer(TOKENIZER) if TOKENIZER in contents.files else None,
    )


def _parse_settings(raw: dict[str, Any]) -> Settings:
    return Settings(**{**raw, "confidence": Confidence.parse(raw["confidence"])})


def fill(model: ErnieDoc, tensors: dict[str, Tensor], folder: Path) -> None:
    """Put tensors into the model, in place.

    Raises:
        CheckpointError: A tensor is missing, unknown or of another shape.
    """
    expected = unique_state(model)
    missing, unknown = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    if missing or unknown:
        sides = ("lacks", missing), ("has no place for", unknown)
        text = " and ".join(f"{verb} {shorten(names)}" for verb, names in sides if names)
        raise CheckpointError(f"{folder} {text}: {ADVICE}")
    for name, value in tensors.items():
        if value.shape != expected[name].shape:
            raise CheckpointError(
                f"{folder}: {name} has the shape {list(value.shape)}, its configuration asks for "
                f"{list(expected[name].shape)}"
            )
    model.load_state_dict(tensors, strict=False)


def unique_state(model: ErnieDoc) -> dict[str, Tensor]:
    """Return the tensors of a model, those that layers share once and under their first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
