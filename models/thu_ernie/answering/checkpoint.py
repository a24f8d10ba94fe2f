"""Our checkpoint of THU-ERNIE, from a folder and to a folder.

ernie_config.json    sizes and kinds of layers
model.safetensors    weights that differ from MiniLM's; the others are read from the encoder that all systems share
reading.json         how it reads, and the scales of its answers
answers.json         every answer of its facts -> the name of the row
entities/            the table (models/thu_ernie/entities)
SHA256SUMS           what each of the others has to be
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from models.checkpoint import ADVICE, SUMS, WEIGHTS, CheckpointError, read_verified, shorten, write_sums
from models.confidence import Confidence
from models.encoder.weights import find
from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.reader import SCALES, Model, Settings
from models.thu_ernie.checkpoint import CONFIG, read_sizes
from models.thu_ernie.entities.files import FILES as TABLE_FILES
from models.thu_ernie.entities.table import EntityTable
from models.thu_ernie.heads import ErnieAnswers

DEFAULT = Path(__file__).parents[2] / "checkpoints" / "thu-ernie"
READING, ANSWERS, TABLE = "reading.json", "answers.json", "entities"
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
    config = read_sizes(folder)
    try:
        network = ErnieAnswers(config)
        tensors = {name: value.float() for name, value in contents.tensors(WEIGHTS).items()}
        reading = contents.json(READING)
        settings = Settings(**reading["settings"])
        confidences = {kind: Confidence.parse(reading["confidences"][kind]) for kind in SCALES}
        answers = dict(contents.json(ANSWERS))
    except (KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause
    fill(network, minilm_weights(network.state_dict()) | tensors, folder)
    table = EntityTable.open(folder / TABLE, config.entity_size)
    network.to(device, dtype).eval().requires_grad_(False)
    return Model(network, minilm_vocabulary(), table, answers, settings, confidences, contents.digest)


def save(
    network: ErnieAnswers,
    answers: Mapping[str, str],
    settings: Settings,
    confidences: Mapping[str, Confidence],
    folder: Path,
) -> None:
    """Write a checkpoint in 16 bits beside the table that lies in the folder; equal weights give equal bytes."""
    state = network.state_dict()
    base = minilm_weights(state)
    tensors = {
        name: value.half().contiguous()
        for name, value in sorted(state.items())
        if name not in base or not value.equal(base[name])
    }
    save_file(tensors, folder / WEIGHTS)
    reading = {
        "settings": asdict(settings),
        "confidences": {kind: confidences[kind].to_json() for kind in SCALES},
    }
    contents = ((CONFIG, network.config.to_json()), (READING, reading), (ANSWERS, dict(answers)))
    for name, content in contents:
        text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=name != ANSWERS)
        (folder / name).write_text(text + "\n", "utf-8")
    write_sums(folder, (*READ, *TABLES))


def fill(network: ErnieAnswers, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Put tensors into a network, in place.

    Raises:
        CheckpointError: A tensor is missing, unknown or of another shape.
    """
    expected = network.state_dict()
    for verb, names in (
        ("lacks", expected.keys() - tensors.keys()),
        ("has no place for", tensors.keys() - expected.keys()),
    ):
        if names:
            raise CheckpointError(f"{folder} {verb} {shorten(sorted(names))}: {ADVICE}")
    for name, value in tensors.items():
        if value.shape != expected[name].shape:
            raise CheckpointError(
                f"{folder}: {name} has the shape {list(value.shape)} and the configuration asks for "
                f"{list(expected[name].shape)}"
            )
    network.load_state_dict(dict(tensors))


def minilm_weights(expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return MiniLM's tensors under our names, those that a network has in the same shape.

    Raises:
        EncoderNotFound: MiniLM's files are not there.
    """
    tensors = {f"bert.{name}": value for name, value in find().weights.items()}
    return {
        name: value
        for name, value in tensors.items()
        if name in expected and value.shape == expected[name].shape
    }


def minilm_vocabulary() -> Vocabulary:
    """Return MiniLM's word pieces."""
    ids = find().tokenizer().get_vocab()
    return Vocabulary(tuple(sorted(ids, key=ids.__getitem__)), lowercase=True)
