"""Our checkpoint of ERNIE-Doc: a folder that is loaded without unpickling anything.

tokenizer.json      its words, if they are not MiniLM's
config.json         model_type `ernie-doc`, the sizes and switches, and where other weights come from
model.safetensors   the weights under PaddleNLP's names without its prefix
SHA256SUMS          what both have to be

A checkpoint with the base `minilm` leaves out what equals MiniLM's weights, such as its word table, which is nearly
half of the model and lies on every machine anyway.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch
from tokenizers import Tokenizer

from models.confidence import Confidence
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.minilm import minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.kit.checkpoint import (
    CONFIG,
    WEIGHTS,
    CheckpointError,
    differing,
    fill,
    read_sums,
    read_verified,
)
from models.kit.checkpoint import save as write

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
    state = {
        name: weight.detach() for name, weight in model.named_parameters()
    }  # each that layers share once
    encoder = minilm_weights(state) if base == "minilm" else {}
    tensors = {name: value.to(dtype) for name, value in differing(state, encoder).items()}
    config = {
        "model_type": MODEL_TYPE,
        "base": base,
        "model": asdict(model.config),
        "reading": asdict(settings) if settings else None,
        **({"labels": list(labels)} if labels else {}),
        **({"tokenizer": TOKENIZER} if tokenizer else {}),
    }
    if tokenizer:
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / TOKENIZER))
    write(folder, {WEIGHTS: tensors}, {CONFIG: config}, (TOKENIZER,) if tokenizer else ())


def save_settings(folder: Path, settings: Settings) -> None:
    """Change how the checkpoint of a folder reads documents; its other files stay as they are.

    Raises:
        CheckpointError: A file is missing or damaged.
    """
    config = read_verified(folder, FILES).json(CONFIG) | {"reading": asdict(settings)}
    write(folder, {}, {CONFIG: config}, [name for name in read_sums(folder) if name != CONFIG])


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
    with contents.whole():
        model, raw = ErnieDoc(ErnieDocConfig(**config["model"])), config.get("reading")
        settings = (
            None if raw is None else Settings(**raw | {"confidence": Confidence.parse(raw["confidence"])})
        )
    base = minilm_weights(model.state_dict()) if config.get("base") == "minilm" else {}
    fill(model, base | contents.floats(WEIGHTS), folder)
    return Checkpoint(
        model.to(device, dtype).eval().requires_grad_(False),
        contents.digest,
        settings,
        tuple(config.get("labels", ())),
        contents.tokenizer(TOKENIZER) if TOKENIZER in contents.files else None,
    )
