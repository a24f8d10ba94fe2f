"""The reader's checkpoint: a folder with what training changed of MiniLM, and how it reads.

config.json          sizes in tokens, and the scale of its answers
model.safetensors    MiniLM's layers as they were trained, without its words, and the matrices of the head, in 16 bits
SHA256SUMS           the digests of the other files
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderFiles, find
from models.kit import checkpoint as kit
from models.kit.checkpoint import CONFIG, WEIGHTS, read_verified
from models.reading.reader import Reader, Settings

DEFAULT = Path(__file__).parents[1] / "checkpoints" / "reading"
HEADS = ("first.weight", "last.weight")


def load(
    folder: Path = DEFAULT, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Reader:
    """Load the reader of a folder.

    CheckpointError: a file is missing, damaged or does not fit; the sentence names it. EncoderNotFound: MiniLM's
    files are not there.
    """
    contents = read_verified(folder, (CONFIG, WEIGHTS))
    with contents.whole():
        raw = contents.json(CONFIG)
        settings, confidence = Settings(**raw["settings"]), Confidence.parse(raw["confidence"])
        return assemble(contents.floats(WEIGHTS), settings, confidence, contents.digest, device, dtype)


def read_tensors(folder: Path = DEFAULT) -> dict[str, Tensor]:
    """Return what training changed of MiniLM, for a training that starts from it.

    CheckpointError: a file is missing or damaged; the sentence names it.
    """
    return read_verified(folder, (CONFIG, WEIGHTS)).floats(WEIGHTS)


def assemble(
    tensors: Mapping[str, Tensor],
    settings: Settings,
    confidence: Confidence,
    digest: str = "",
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Reader:
    """Build a reader of trained tensors and MiniLM's words."""
    files = find()
    layers = {name: value for name, value in tensors.items() if name not in HEADS}
    encoder = MiniLM(
        EncoderFiles({**files.weights, **layers}, files.tokenizer_json), device=device, dtype=dtype
    )
    heads = torch.stack([tensors[name] for name in HEADS])
    return Reader(encoder, heads, settings, confidence, digest)


def save(tensors: Mapping[str, Tensor], settings: Settings, confidence: Confidence, folder: Path) -> None:
    """Write a checkpoint; equal weights give equal bytes."""
    config = {"settings": asdict(settings), "confidence": confidence.to_json()}
    kit.save(folder, {WEIGHTS: {name: value.half() for name, value in tensors.items()}}, {CONFIG: config})
