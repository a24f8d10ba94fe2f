"""A checkpoint is the same after it was saved and loaded, and one that is not whole is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.ernie_doc.checkpoint import FILES, Settings, load, save, save_settings
from models.ernie_doc.minilm import WORDS, minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.kit.checkpoint import CONFIG as CONFIG_FILE
from models.kit.checkpoint import WEIGHTS, CheckpointError, write_sums
from tests.models.ernie_doc.tiny import CONFIG, tiny_model, tokenizer

MINILM = replace(CONFIG, vocab=30522, width=384, heads=12, inner=1536)


@pytest.mark.parametrize("shares_biases", [False, True])
def test_a_saved_model_is_the_same_when_it_is_loaded(tmp_path: Path, shares_biases: bool) -> None:
    model, settings = (
        tiny_model(shares_biases=shares_biases, skips_padding=True),
        Settings(3, 2, 4, Confidence((1.0, 2.0, 3.0), 0.5, 0.25)),
    )
    save(model, tmp_path, settings=settings)
    checkpoint = load(tmp_path)
    assert checkpoint.settings == settings
    assert checkpoint.model.config == model.config
    for name, value in model.state_dict().items():
        assert checkpoint.model.state_dict()[name].equal(value), name


def test_settings_change_and_the_other_files_keep_their_bytes(tmp_path: Path) -> None:
    settings = Settings(3, 2, 4, Confidence((1.0, 2.0, 3.0), 0.5, 0.25))
    save(tiny_model(), tmp_path, settings=settings, tokenizer=tokenizer())
    weights, before = (tmp_path / WEIGHTS).read_bytes(), load(tmp_path)
    save_settings(tmp_path, replace(settings, reader_share=0.65))
    after = load(tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == weights
    assert after.settings == replace(settings, reader_share=0.65)
    assert after.tokenizer is not None
    assert after.digest != before.digest
    (tmp_path / WEIGHTS).write_bytes(weights[:-1])
    with pytest.raises(CheckpointError, match="is damaged"):
        save_settings(tmp_path, settings)


def test_equal_weights_have_equal_digests(tmp_path: Path) -> None:
    first, second = tiny_model(), tiny_model()
    for name, model in (("a", first), ("b", first), ("c", second)):
        save(model, tmp_path / name)
    digests = [load(tmp_path / name).digest for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_what_equals_minilm_is_not_stored(tmp_path: Path) -> None:
    model = ErnieDoc(MINILM)
    model.load_state_dict(minilm_weights(model.state_dict()), strict=False)
    with torch.no_grad():
        model.encoder.layers[1].ffn.linear1.bias += 1.0
    save(model, tmp_path, "minilm")
    names = load_file(tmp_path / WEIGHTS).keys()
    assert WORDS not in names
    assert "encoder.layers.0.ffn.linear1.bias" not in names
    assert "encoder.layers.1.ffn.linear1.bias" in names
    assert "encoder.layers.0.attn.r_proj.weight" in names
    for name, value in load(tmp_path).model.state_dict().items():
        assert value.equal(model.state_dict()[name]), name


def test_minilm_gives_weights_where_shapes_allow() -> None:
    whole = minilm_weights(ErnieDoc(MINILM).state_dict())
    layers = {name.split(".")[2] for name in whole if name.startswith("encoder.layers.")}
    assert layers == {"0", "1"}
    assert len(whole) == 3 + 2 * 16
    assert minilm_weights(tiny_model().state_dict()) == {}


def test_words_keep_the_mean_of_what_minilm_adds_to_them() -> None:
    words, encoder = minilm_weights(ErnieDoc(MINILM).state_dict())[WORDS], MiniLM()
    ids = torch.arange(2000, 2100)
    places = torch.arange(512)
    expected = torch.stack([encoder.embed(token.expand(512), places).mean(0) for token in ids])
    torch.testing.assert_close(words[ids], expected, atol=1e-5, rtol=0)


def test_weights_in_half_precision_are_loaded_in_float32(tmp_path: Path) -> None:
    model = tiny_model()
    save(model, tmp_path, dtype=torch.float16)
    for name, value in load(tmp_path).model.state_dict().items():
        assert value.equal(model.state_dict()[name].half().float()), name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"linear.bias": None}, r"lacks linear\.bias: "),
        ({"other": torch.ones(1)}, "has no place for other: "),
        ({"linear.bias": torch.ones(3)}, r"has in another shape than its settings say linear\.bias: "),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, torch.Tensor | None], sentence: str
) -> None:
    save(tiny_model(), tmp_path)
    tensors = load_file(tmp_path / WEIGHTS) | changes
    save_file({name: value for name, value in tensors.items() if value is not None}, tmp_path / WEIGHTS)
    write_sums(tmp_path, FILES)
    with pytest.raises(CheckpointError, match=sentence):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model_type": "bert"}, "is a checkpoint of 'bert', not of 'ernie-doc'"),
        ({"model": {"width": 16}}, "is not a whole checkpoint"),
        ({"reading": {"overlap": 16}}, "is not a whole checkpoint"),
    ],
)
def test_the_configuration_of_another_model_is_refused(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    save(tiny_model(), tmp_path)
    path = tmp_path / CONFIG_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    write_sums(tmp_path, FILES)
    with pytest.raises(CheckpointError, match=sentence):
        load(tmp_path)
