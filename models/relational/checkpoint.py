"""A trained reader, from a folder and to a folder.

config.json        sizes of the reader, and bounds of the sub-graph (config.py)
model.safetensors  the trained part (network.py); the frozen encoder is not in it
confidence.json    the scale of answers (models/confidence.py); its features are in answer.py
SHA256SUMS         what each of the others has to be
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from models.checkpoint import ADVICE, CONFIG, WEIGHTS, CheckpointError, read_verified, write_sums
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.relational.config import Config
from models.relational.network import RelationalNetwork
from models.relational.question import TextReader

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "relational"
CONFIDENCE = "confidence.json"
FILES = (CONFIG, WEIGHTS, CONFIDENCE)


@dataclass(frozen=True)
class Model:
    """Everything an answer needs. Thread-safe: weights never change.

    Attributes:
        network: The trained part.
        reader: Reads texts with the frozen encoder.
        confidence: The scale of answers.
        digest: Digest of its folder; "" without one.
    """

    network: RelationalNetwork
    reader: TextReader
    confidence: Confidence
    digest: str = ""

    @property
    def config(self) -> Config:
        """Return the sizes of the reader."""
        return self.network.config


def load(
    folder: Path = DEFAULT, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Model:
    """Load the reader of a checkpoint folder.

    Args:
        folder: The folder.
        device: Device on which it runs.
        dtype: Dtype of the frozen encoder's matrices; the trained part stays in float32.

    Raises:
        CheckpointError: A file is missing, damaged or does not fit; the sentence names it.
        EncoderNotFound: The frozen encoder is not there.
    """
    contents = read_verified(folder, FILES)
    try:
        network = RelationalNetwork(Config(**contents.json(CONFIG)))
        network.load_state_dict({name: value.float() for name, value in contents.tensors(WEIGHTS).items()})
        confidence = Confidence.parse(contents.json(CONFIDENCE))
    except (RuntimeError, KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause
    network.to(device).eval().requires_grad_(False)
    return Model(network, TextReader(MiniLM(device=device, dtype=dtype)), confidence, contents.digest)


def save(network: RelationalNetwork, confidence: Confidence, folder: Path) -> None:
    """Write a reader; equal weights give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.contiguous() for name, value in sorted(network.state_dict().items())}
    save_file(weights, folder / WEIGHTS)
    (folder / CONFIG).write_text(json.dumps(asdict(network.config), indent=1) + "\n", "utf-8")
    (folder / CONFIDENCE).write_text(json.dumps(confidence.to_json(), indent=1) + "\n", "utf-8")
    write_sums(folder, FILES)
