"""Checkpoints of THU-ERNIE and of BERT: read as tensors alone, compared name by name, and written again.

ernie_config.json    sizes and kinds of layers; a BERT of Hugging Face has config.json in its place
pytorch_model.bin    the authors' weights, a pickle of which nothing but tensors is read; or model.safetensors
vocab.txt            the word pieces

The keys are BERT's, and those of the entity stream: `self_ent`, `output_ent`, `dense_ent` and `LayerNorm_ent` in a
layer that fuses, and `cls.predictions_ent`. A BERT fills the shared keys, and the entity stream starts new.
"""

import json
import pickle
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from models.kit.checkpoint import CheckpointError, read_config, read_tensors, shorten, write_sums
from models.thu_ernie.config import LAYER_TYPES, ConfigError, ErnieConfig, LayerKind
from models.thu_ernie.heads import ErniePretraining, ErnieWithHead, LoadReport

CONFIG, WEIGHTS, WORDS, TOKENIZER = (
    "ernie_config.json",
    "model.safetensors",
    "vocab.txt",
    "tokenizer_config.json",
)
KNOWLEDGE = re.compile(r"\.(self_ent|output_ent|dense_ent|LayerNorm_ent|predictions_ent)\.")
NETWORK = ("embeddings.", "encoder.", "pooler.")  # Keys of a BERT that was saved without a head
DECODER, EMBEDDING = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
NORMS = {"gamma": "weight", "beta": "bias"}  # Names of old BERTs, ours

ModelT = TypeVar("ModelT", bound=ErnieWithHead)


def load(
    folder: Path, build: Callable[[ErnieConfig], ModelT], kinds: tuple[LayerKind, ...] | None = None
) -> ModelT:
    """Build a model and fill it from a checkpoint; `report` of the model says what came from there.

    Args:
        folder: The authors' folder, or a BERT's.
        build: The model with its head, such as `ErniePretraining`.
        kinds: Kinds of the layers in place of those of the file, for a BERT that shall learn entities.

    Raises:
        CheckpointError: A file is missing or is not what it should be; the sentence names it, and the tensors.
    """
    model = build(read_sizes(folder, kinds))
    tensors = rename(_read_tensors(folder))
    model.report = compare(tensors, model.state_dict(), folder)
    model.load_state_dict({name: tensors[name] for name in model.report.matches}, strict=False)
    return model.eval()


def convert(source: Path, target: Path) -> LoadReport:
    """Write a checkpoint as a folder with safetensors and SHA256SUMS, and report what it holds.

    Raises:
        CheckpointError: The source is no THU-ERNIE, or the target is in use.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise CheckpointError(f"{target} is not empty: name a new folder")
    config, tensors = read_sizes(source), rename(_read_tensors(source))
    with torch.device("meta"):
        report = compare(tensors, ErniePretraining(config).state_dict(), source)
    tensors.pop(DECODER, None)
    save_file({name: tensors[name].contiguous() for name in sorted(tensors)}, target / WEIGHTS)
    content = json.dumps(config.to_json(), indent=1, sort_keys=True)
    (target / CONFIG).write_text(content + "\n", encoding="utf-8")
    names = [name for name in (WORDS, TOKENIZER) if (source / name).is_file()]
    for name in names:
        shutil.copyfile(source / name, target / name)
    write_sums(target, (CONFIG, WEIGHTS, *names))
    return report


def read_sizes(folder: Path, kinds: tuple[LayerKind, ...] | None = None) -> ErnieConfig:
    """Read the configuration of a folder; `kinds` stands in the place of its list.

    Raises:
        CheckpointError: The file is missing, or describes no model.
    """
    path = folder / CONFIG
    if folder.is_file():
        raise CheckpointError(f"{folder} is a file: unpack it (tar xzf) and name the folder")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else read_config(folder)
        if not isinstance(content, dict):
            raise CheckpointError(f"{path} is not a JSON object")
        return ErnieConfig.from_json(content if kinds is None else content | {LAYER_TYPES: list(kinds)})
    except CheckpointError:
        raise
    except ConfigError as cause:
        raise CheckpointError(f"{folder}: {cause}") from cause
    except ValueError as cause:
        raise CheckpointError(f"{path} is not JSON: {cause}") from cause


def rename(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors under today's names: `gamma` is a weight, and a network without a head stands under `bert.`."""
    is_bare = not any(name.startswith("bert.") for name in tensors)
    renamed_tensors = {}
    for name, value in tensors.items():
        stem, dot, last = name.rpartition(".")
        prefix = "bert." if is_bare and name.startswith(NETWORK) else ""
        renamed_tensors[prefix + stem + dot + NORMS.get(last, last)] = value
    return renamed_tensors


def compare(tensors: Mapping[str, Tensor], state: Mapping[str, Tensor], source: Path) -> LoadReport:
    """Report which tensors of a checkpoint a model takes.

    Raises:
        CheckpointError: A shared tensor is missing, a tensor has another shape or a number that is not finite, or the
            entity stream of the file belongs to other layers.
    """
    matches = tuple(name for name in state if name in tensors and name != DECODER)
    new = tuple(name for name in state if name not in tensors and name != DECODER)
    ignored = tuple(sorted(set(tensors) - set(state)))
    if missing := [name for name in new if name.startswith("bert.") and not KNOWLEDGE.search(name)]:
        raise CheckpointError(f"{source} lacks {shorten(missing)}: not a BERT of these layers")
    _check_layers(tensors, new, ignored, source)
    for name in matches:
        _check_tensor(name, tensors[name], state[name], source)
    if DECODER in tensors and not tensors[DECODER].equal(tensors[EMBEDDING]):
        raise CheckpointError(
            f"{source} has a {DECODER} that differs from the word embedding; here both are one matrix"
        )
    return LoadReport(matches, new, ignored)


def _check_layers(tensors: Iterable[str], new: Iterable[str], ignored: Iterable[str], source: Path) -> None:
    """Refuse an entity stream that stands in other layers than the configuration says."""

    def stream(names: Iterable[str]) -> list[str]:
        return [name for name in names if name.startswith("bert.") and KNOWLEDGE.search(name)]

    strangers = [*stream(new), *stream(ignored)]
    if stream(tensors) and strangers:
        raise CheckpointError(
            f"{source} holds the entity stream of other layers than {LAYER_TYPES} says: {shorten(strangers)}"
        )


def _check_tensor(name: str, tensor: Tensor, expected: Tensor, source: Path) -> None:
    if tensor.shape != expected.shape:
        raise CheckpointError(
            f"{source}: {name} has the shape {list(tensor.shape)} and the configuration asks for {list(expected.shape)}"
        )
    if not bool(tensor.isfinite().all()):
        rows = (~tensor.isfinite()).reshape(len(tensor), -1).any(1).nonzero().flatten().tolist()
        raise CheckpointError(
            f"{source}: {name} holds numbers that are not finite, in row {shorten(list(map(str, rows)))}"
        )


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    try:
        return read_tensors(folder)
    except CheckpointError as error:
        if isinstance(error.__cause__, pickle.UnpicklingError):
            raise CheckpointError(
                f"{folder} holds a pickle of more than tensors, of which nothing was run: take a file of weights alone"
            ) from error
        raise
