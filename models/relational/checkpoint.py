"""A trained reader, from a folder and to a folder.

config.json        sizes of the reader, and bounds of the sub-graph (config.py)
model.safetensors  the trained part (network.py); the frozen encoder is not in it
confidence.json    the scale of answers (models/confidence.py); its features are in answer.py
SHA256SUMS         what each of the others has to be
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.kit import checkpoint as kit
from models.kit.checkpoint import CONFIG, WEIGHTS, fill, read_verified
from models.relational.network import Config, RelationalNetwork
from models.relational.question import TextReader

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "relational"
CONFIDENCE = "confidence.json"
FILES = (CONFIG, WEIGHTS, CONFIDENCE)


@dataclass(frozen=True)
class Model:
    """Everything an answer needs. Thread-safe: weights never change."""

    network: RelationalNetwork  # the trained part
    reader: TextReader  # reads texts with the frozen encoder
    confidence: Confidence  # the scale of answers
    digest: str = ""  # digest of its folder; "" without one

    @property
    def config(self) -> Config:
        """Return the sizes of the reader."""
        return self.network.config


def load(
    folder: Path = DEFAULT, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Model:
    """Load the reader of a checkpoint folder.

    Args:
        dtype: Dtype of the frozen encoder's matrices; the trained part stays in float32.

    CheckpointError: a file is missing, damaged or does not fit; the sentence names it. EncoderNotFound: the frozen
    encoder is not there.
    """
    contents = read_verified(folder, FILES)
    with contents.whole():
        network = RelationalNetwork(Config(**contents.json(CONFIG)))
        confidence = Confidence.parse(contents.json(CONFIDENCE))
    fill(network, contents.floats(WEIGHTS), folder)
    network.to(device).eval().requires_grad_(False)
    return Model(network, TextReader(MiniLM.load(device, dtype)), confidence, contents.digest)


def save(network: RelationalNetwork, confidence: Confidence, folder: Path) -> None:
    """Write a reader; equal weights give equal bytes."""
    settings = {CONFIG: asdict(network.config), CONFIDENCE: confidence.to_json()}
    kit.save(folder, {WEIGHTS: network.state_dict()}, settings)
