"""Checkpoints are read as tensors alone; tensors that fit are reported, and others are named."""

import json
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import BertConfig, BertForPreTraining, BertModel

from models.kit.checkpoint import CheckpointError, read_verified
from models.thu_ernie.authors import DECODER, KNOWLEDGE, convert, load
from models.thu_ernie.config import LAYER_TYPES, ErnieConfig
from models.thu_ernie.heads import ErniePretraining
from models.thu_ernie.network import Batch
from tests.models.thu_ernie.conftest import WORDS
from tests.parity.ernie import ErnieSpans

QUERY = "bert.encoder.layer.0.attention.self.query.weight"


def write(folder: Path, config: ErnieConfig, tensors: Any, **options: Any) -> Path:
    """Write the authors' folder."""
    folder.mkdir(exist_ok=True)
    (folder / "ernie_config.json").write_text(json.dumps(config.to_json()))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    torch.save(tensors, folder / "pytorch_model.bin", **options)
    return folder


@pytest.fixture
def tensors(config: ErnieConfig) -> dict[str, Tensor]:
    """Return the weights of a model, with the authors' names."""
    return OrderedDict(ErniePretraining(config).state_dict())


def old_name(name: str) -> str:
    is_norm = "LayerNorm" in name
    return name.replace(".weight", ".gamma").replace(".bias", ".beta") if is_norm else name


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_authors_folder_is_read_bit_for_bit(
    is_zip: bool, config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    """Their file is of the format before zip files, and its norms have gamma and beta."""
    named_as_authors = {old_name(name): value for name, value in tensors.items()}
    write(tmp_path, config, named_as_authors, _use_new_zipfile_serialization=is_zip)
    model = load(tmp_path, ErniePretraining)
    assert not model.training
    assert model.report is not None
    assert (model.report.new, model.report.ignored) == ((), ())
    assert len(model.report.matches) == len(tensors) - 1
    assert all(value.equal(tensors[name]) for name, value in model.state_dict().items())


def test_an_archive_is_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "ernie.tar.gz").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"is a file: unpack it \(tar xzf\) and name the folder"):
        load(tmp_path / "ernie.tar.gz", ErniePretraining)


def test_another_head_takes_the_network_and_reports_the_rest(
    config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    report = load(write(tmp_path, config, tensors), ErnieSpans).report
    assert report is not None
    assert report.new == ("qa_outputs.weight", "qa_outputs.bias")
    assert {name.partition(".")[0] for name in report.matches} == {"bert"}
    assert {name.partition(".")[0] for name in report.ignored} == {"cls"}


def bert_config(config: ErnieConfig) -> BertConfig:
    return BertConfig(**{name: value for name, value in config.to_json().items() if name != LAYER_TYPES})


@pytest.mark.parametrize("kind", [BertForPreTraining, BertModel])
def test_a_bert_fills_the_shared_weights_and_the_entity_stream_is_new(
    kind: Callable[..., Any], config: ErnieConfig, batch: Batch, tmp_path: Path
) -> None:
    bert = kind(bert_config(config)).eval()
    bert.save_pretrained(tmp_path)
    model = load(tmp_path, ErniePretraining, kinds=config.kinds)
    assert model.report is not None
    assert any(KNOWLEDGE.search(name) for name in model.report.new)
    assert all(KNOWLEDGE.search(name) or name.startswith("cls.") for name in model.report.new)
    plain = load(tmp_path, ErniePretraining, kinds=("sim",) * 4)
    encoder = bert if kind is BertModel else bert.bert
    expected = encoder(batch.ids, batch.is_real.long(), batch.segments).pooler_output
    torch.testing.assert_close(plain.bert(batch).pooled, expected, atol=1e-5, rtol=0)


def test_a_bert_without_kinds_is_told_which_list_is_taken(config: ErnieConfig, tmp_path: Path) -> None:
    BertModel(bert_config(config)).save_pretrained(tmp_path)
    with (
        pytest.warns(UserWarning, match="lacks layer_types"),
        pytest.raises(CheckpointError, match="has 12 entries and num_hidden_layers is 4"),
    ):
        load(tmp_path, ErniePretraining)


def test_an_ernie_loads_into_a_plain_bert_with_the_entity_stream_left_out(
    config: ErnieConfig, tensors: dict[str, Tensor]
) -> None:
    result = BertForPreTraining(bert_config(config)).load_state_dict(tensors, strict=False)
    assert result.missing_keys == ["cls.predictions.decoder.bias"]
    assert all(KNOWLEDGE.search(name) for name in result.unexpected_keys)


def test_a_converted_checkpoint_is_the_one_that_it_was(
    config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    source, target = write(tmp_path / "source", config, tensors), tmp_path / "target"
    report = convert(source, target)
    assert (report.new, report.ignored) == ((), ())
    assert {file.name for file in target.iterdir()} == {
        *("ernie_config.json", "model.safetensors", "vocab.txt", "SHA256SUMS"),
    }
    names = ("ernie_config.json", "model.safetensors", "vocab.txt")
    assert read_verified(target, names).digest.startswith("sha256:")
    assert DECODER not in load_file(target / "model.safetensors")
    state = load(target, ErniePretraining).state_dict()
    assert all(value.equal(tensors[name]) for name, value in state.items())
    with pytest.raises(CheckpointError, match="is not empty"):
        convert(source, target)


class Attack:
    """An object whose unpickling would make a folder."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(
    is_zip: bool, config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    attack = Attack(tmp_path / "executed")
    write(tmp_path / "ernie", config, {**tensors, "x": attack}, _use_new_zipfile_serialization=is_zip)
    with pytest.raises(CheckpointError, match="a pickle of more than tensors, of which nothing was run"):
        load(tmp_path / "ernie", ErniePretraining)
    (tmp_path / "ernie" / "pytorch_model.bin").write_bytes(pickle.dumps(attack))
    with pytest.raises(CheckpointError, match="ernie"):
        load(tmp_path / "ernie", ErniePretraining)
    assert not (tmp_path / "executed").exists()


def nan_row(tensor: Tensor) -> Tensor:
    tensor = tensor.clone()
    tensor[7, 3] = float("nan")
    return tensor


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({QUERY: None}, f"lacks {QUERY}: not a BERT of these layers"),
        (
            {QUERY: lambda t: t[:, :12]},
            rf"{QUERY} has the shape \[24, 12\] and the configuration asks for \[24, 24\]",
        ),
        ({QUERY: nan_row}, f"{QUERY} holds numbers that are not finite, in row 7"),
        (
            {"bert.encoder.layer.1.output.dense_ent.weight": None},
            "the entity stream of other layers than layer_types says: bert.encoder.layer.1.output.dense_ent.weight",
        ),
        ({"cls.predictions.decoder.weight": lambda t: t + 1}, "differs from the word embedding"),
        ({"x": lambda t: "text"}, "is not a mapping of names to tensors"),
    ],
)
def test_a_file_that_does_not_fit_is_named(
    change: dict[str, Any], sentence: str, config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    for name, act in change.items():
        value = tensors.pop(name, torch.zeros(1))
        if act is not None:
            tensors[name] = act(value)
    with pytest.raises(CheckpointError, match=sentence):
        load(write(tmp_path, config, tensors), ErniePretraining)


def test_the_kinds_of_another_model_are_refused(
    config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    folder = write(tmp_path, config, tensors)
    with pytest.raises(CheckpointError, match=r"other layers than layer_types says.*layer\.0\."):
        load(folder, ErniePretraining, kinds=("mix", "mix", "norm", "norm"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("{", "is not JSON"), ("[]", "is not a JSON object"), ("{}", "lacks vocab_size")],
)
def test_a_configuration_that_is_none_is_named(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "ernie_config.json").write_text(content)
    with pytest.raises(CheckpointError, match=sentence):
        load(tmp_path, ErniePretraining)
