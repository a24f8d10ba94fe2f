"""The reader's checkpoint: a folder with what training changed of MiniLM, and how it reads.

config.json          sizes in tokens, and the scale of its answers
model.safetensors    MiniLM's layers as they were trained, without its words, and the matrices of the head, in 16 bits
SHA256SUMS           the digests of the other files
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from models.checkpoint import ADVICE, WEIGHTS, CheckpointError, read_verified, write_sums
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderFiles, find
from models.reading.reader import Reader, Settings

DEFAULT = Path(__file__).parents[1] / "checkpoints" / "reading"
CONFIG = "config.json"
HEADS = ("first.weight", "last.weight")


def load(
    folder: Path = DEFAULT, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Reader:
    """Load the reader of a folder.

    Raises:
        CheckpointError: A file is missing, damaged or does not fit; the sentence names it.
        EncoderNotFound: MiniLM's files are not there.
    """
    contents = read_verified(folder, (CONFIG, WEIGHTS))
    tensors = {name: value.float() for name, value in contents.tensors(WEIGHTS).items()}
    raw = contents.json(CONFIG)
    try:
        settings, confidence = Settings(**raw["settings"]), Confidence.parse(raw["confidence"])
        return assemble(tensors, settings, confidence, contents.digest, device, dtype)
    except (KeyError, TypeError, ValueError, RuntimeError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause


def read_tensors(folder: Path = DEFAULT) -> dict[str, Tensor]:
    """Return what training changed of MiniLM, for a training that starts from it.

    Raises:
        CheckpointError: A file is missing or damaged; the sentence names it.
    """
    contents = read_verified(folder, (CONFIG, WEIGHTS))
    return {name: value.float() for name, value in contents.tensors(WEIGHTS).items()}


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
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous() for name, value in sorted(tensors.items())}, folder / WEIGHTS)
    config = {"settings": asdict(settings), "confidence": confidence.to_json()}
    (folder / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    write_sums(folder, (CONFIG, WEIGHTS))
