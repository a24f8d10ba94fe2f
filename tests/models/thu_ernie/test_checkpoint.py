"""The authors' folder and a BERT's fill the network; what they lack or have beside it is told."""

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForPreTraining, BertModel

from models.thu_ernie.config import LAYER_TYPES, ErnieConfig
from models.thu_ernie.network import Batch
from tests.models.thu_ernie.conftest import WORDS
from tests.parity.ernie import ErniePretraining, ErnieSpans, pool
from tests.parity.ernie_checkpoint import KNOWLEDGE, load


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
    model, new, ignored = load(tmp_path, ErniePretraining)
    assert (new, ignored) == ([], [])
    assert all(value.equal(tensors[name]) for name, value in model.state_dict().items())


def test_another_head_takes_the_network_and_reports_the_rest(
    config: ErnieConfig, tensors: dict[str, Tensor], tmp_path: Path
) -> None:
    _, new, ignored = load(write(tmp_path, config, tensors), ErnieSpans)
    assert new == ["qa_outputs.weight", "qa_outputs.bias"]
    assert {name.partition(".")[0] for name in ignored} == {"cls"}


def bert_config(config: ErnieConfig) -> BertConfig:
    return BertConfig(**{name: value for name, value in config.to_json().items() if name != LAYER_TYPES})


@pytest.mark.parametrize("kind", [BertForPreTraining, BertModel])
def test_a_bert_fills_the_shared_weights_and_the_entity_stream_is_new(
    kind: Callable[..., Any], config: ErnieConfig, batch: Batch, tmp_path: Path
) -> None:
    bert = kind(bert_config(config)).eval()
    bert.save_pretrained(tmp_path)
    new = load(tmp_path, ErniePretraining, kinds=config.kinds).new
    assert any(KNOWLEDGE.search(name) for name in new)
    assert all(KNOWLEDGE.search(name) or name.startswith("cls.") for name in new)
    plain = load(tmp_path, ErniePretraining, kinds=("sim",) * 4).model
    encoder = bert if kind is BertModel else bert.bert
    expected = encoder(batch.ids, batch.is_real.long(), batch.segments).pooler_output
    torch.testing.assert_close(pool(plain.bert, plain.bert(batch)), expected, atol=1e-5, rtol=0)


def test_an_ernie_loads_into_a_plain_bert_with_the_entity_stream_left_out(
    config: ErnieConfig, tensors: dict[str, Tensor]
) -> None:
    result = BertForPreTraining(bert_config(config)).load_state_dict(tensors, strict=False)
    assert result.missing_keys == ["cls.predictions.decoder.bias"]
    assert all(KNOWLEDGE.search(name) for name in result.unexpected_keys)
