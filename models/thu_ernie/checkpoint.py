"""Our checkpoint of THU-ERNIE, from a folder and to a folder.

ernie_config.json    sizes and kinds of layers
model.safetensors    weights that differ from MiniLM's; the others are read from the encoder that all systems share
reading.json         how it reads, and the scales of its answers
answers.json         every answer of its facts -> the name of the row
entities/            the table (models/thu_ernie/entities)
SHA256SUMS           what each of the others has to be
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from models.confidence import Confidence
from models.encoder.weights import find
from models.kit.checkpoint import SUMS, WEIGHTS, differing, fill, fitting, read_verified
from models.kit.checkpoint import save as write
from models.kit.text import WordPieces
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.entities.table import FILES as TABLE_FILES
from models.thu_ernie.entities.table import EntityTable
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.reader import SCALES, Model, Settings

DEFAULT = Path(__file__).parents[1] / "checkpoints" / "thu-ernie"
CONFIG, READING, ANSWERS, TABLE = "ernie_config.json", "reading.json", "answers.json", "entities"
READ = (CONFIG, WEIGHTS, READING, ANSWERS)
TABLES = tuple(f"{TABLE}/{name}" for name in (*TABLE_FILES, SUMS))


def load(
    folder: Path = DEFAULT, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Model:
    """Load the model of a folder; the table stays on the disk in float32.

    Raises:
        CheckpointError: A file is missing, damaged or does not fit; the sentence names it.
        EncoderNotFound: MiniLM's files are not there.
    """
    contents = read_verified(folder, READ, TABLES)
    with contents.whole():
        config = ErnieConfig.from_json(contents.json(CONFIG))
        network = ErnieAnswers(config)
        reading = contents.json(READING)
        settings = Settings(**reading["settings"])
        confidences = {kind: Confidence.parse(reading["confidences"][kind]) for kind in SCALES}
        answers = dict(contents.json(ANSWERS))
    fill(network, minilm_weights(network.state_dict()) | contents.floats(WEIGHTS), folder)
    table = EntityTable.open(folder / TABLE, config.entity_size)
    network.to(device, dtype).eval().requires_grad_(False)
    vocabulary = WordPieces(find().tokenizer())
    return Model(network, vocabulary, table, answers, settings, confidences, contents.digest)


def save(
    network: ErnieAnswers,
    answers: Mapping[str, str],
    settings: Settings,
    confidences: Mapping[str, Confidence],
    folder: Path,
) -> None:
    """Write a checkpoint in 16 bits beside the table that lies in the folder; equal weights give equal bytes."""
    state = network.state_dict()
    weights = {name: value.half() for name, value in differing(state, minilm_weights(state)).items()}
    scales = {kind: confidences[kind].to_json() for kind in SCALES}
    reading = {"settings": asdict(settings), "confidences": scales}
    content = {CONFIG: network.config.to_json(), READING: reading, ANSWERS: dict(answers)}
    write(folder, {WEIGHTS: weights}, content, TABLES)


def minilm_weights(expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return MiniLM's tensors under our names, those that a network has in the same shape.

    Raises:
        EncoderNotFound: MiniLM's files are not there.
    """
    return fitting({f"bert.{name}": value for name, value in find().weights.items()}, expected)
