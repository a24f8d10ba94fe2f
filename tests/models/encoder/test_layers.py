"""The layers on ONNX Runtime read as torch's do; in 8 bits a text has the same bits beside any others.

The encoder without padding is the pretrained encoder.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from models.encoder import weights
from models.encoder.bert import PackedBert
from models.encoder.graph import TOP
from models.encoder.layers import ExactLayers, QuickLayers, make_layers
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderNotFound, find

TEXTS = [
    "What is the capital of Peru?",
    "x",
    "Which language do people in Peru speak at home?",
    "Zürich 東京",
]


@pytest.fixture(scope="module")
def layers() -> QuickLayers:
    return QuickLayers(find().weights)


def embed(*texts: str) -> tuple[Tensor, Tensor]:
    """Return the tokens of texts, embedded, and their lengths."""
    minilm = MiniLM()
    rows = [minilm.tokens(text)[0] for text in texts]
    parts = [minilm.embed(torch.tensor(row), torch.arange(len(row))) for row in rows]
    return torch.cat(parts), torch.tensor([len(row) for row in rows])


@pytest.mark.parametrize("seed", range(3))
def test_in_float32_any_tokens_may_attend_to_any_as_in_torch(seed: int) -> None:
    embedded, lengths = embed(*TEXTS)
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    chance = torch.rand(len(TEXTS), *2 * is_real.shape[1:], generator=torch.Generator().manual_seed(seed))
    for may_attend in (is_real[:, None], (chance < 0.5) & is_real[:, None]):
        expected, states = (
            layers(embedded, is_real, may_attend)
            for layers in (PackedBert.from_weights(find().weights), ExactLayers(find().weights))
        )
        torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)


def test_other_shapes_are_read_as_in_torch() -> None:
    weights = {k: weight for k, weight in find().weights.items() if not k.startswith("encoder.layer.5.")}
    embedded, lengths = embed(*TEXTS)
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    states = make_layers(weights, heads=6)(embedded, is_real, is_real[:, None])
    expected = PackedBert.from_weights(weights, heads=6)(embedded, is_real, is_real[:, None])
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)


def test_the_engine_is_chosen_by_the_device_and_the_type() -> None:
    weights = find().weights
    assert isinstance(make_layers(weights), ExactLayers)
    assert isinstance(make_layers(weights, torch.bfloat16), PackedBert)
    on_a_device = {name: weight.to("meta") for name, weight in weights.items()}
    assert isinstance(make_layers(on_a_device), PackedBert)


def test_weights_of_no_layer_are_refused() -> None:
    weights = dict(find().weights)
    weights["encoder.layer.2.output.dense.weight"] = torch.zeros(384, 7)
    with pytest.raises(ValueError, match="takes no such weights"):
        make_layers(weights)


def test_two_products_of_8_bits_fit_in_16() -> None:
    """A processor with AVX2 and without VNNI cuts a larger sum."""
    assert 2 * TOP * 127 < 1 << 15


def test_states_are_close_to_those_of_torch(layers: QuickLayers) -> None:
    embedded, lengths = embed(*TEXTS)
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    expected = PackedBert.from_weights(find().weights)(embedded, is_real, is_real[:, None])[is_real]
    states = layers(embedded, lengths, torch.arange(len(embedded)))
    cosines = torch.cosine_similarity(states, expected, dim=1)
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.95
    rows = torch.tensor([3, 0, 9])
    assert torch.equal(layers(embedded, lengths, rows), states[rows])


def test_a_text_has_the_same_bits_beside_others(layers: QuickLayers) -> None:
    short = TEXTS[1], TEXTS[3], "Peru"
    embedded, lengths = embed(*short)
    alone = [layers(*embed(text), torch.tensor([0])) for text in short]
    assert torch.equal(layers(embedded, lengths, lengths.cumsum(0) - lengths), torch.cat(alone))


def test_tokens_that_are_all_zero_are_read(layers: QuickLayers) -> None:
    assert layers(torch.zeros(3, 384), torch.tensor([3]), torch.arange(3)).isfinite().all()


MINILM_TEXTS = [
    "What is the capital of Peru?",
    "x",
    "Who wrote the book Pride and Prejudice, and when was it?",
    "Zürich 東京",
]


@pytest.fixture(scope="module")
def minilm(device: torch.device) -> MiniLM:
    return MiniLM(device=device)


@pytest.fixture(scope="module")
def bert() -> BertModel:
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict(
        {
            k: v
            for k, v in dict(find().weights).items()
            if not k.startswith(("pooler", "embeddings.position_ids"))
        }
    )
    return model


def test_real_tokens_read_as_transformers_reads_them(minilm: MiniLM, bert: BertModel) -> None:
    encoded = minilm.encode(MINILM_TEXTS)
    for row, text in enumerate(MINILM_TEXTS):
        ids, _ = minilm.tokens(text)
        expected = bert(input_ids=torch.tensor([ids])).last_hidden_state[0]
        torch.testing.assert_close(encoded.states[row, : len(ids)].cpu(), expected, atol=1e-5, rtol=1e-5)


def test_a_batch_reads_as_each_text_alone(minilm: MiniLM) -> None:
    together = minilm.encode(MINILM_TEXTS)
    for row, text in enumerate(MINILM_TEXTS):
        alone = minilm.encode([text])
        torch.testing.assert_close(
            together.states[row][together.mask[row]], alone.states[0], atol=1e-5, rtol=1e-5
        )


def test_in_bfloat16_sentences_mean_the_same_and_states_stay_float32(
    minilm: MiniLM, device: torch.device
) -> None:
    expected, encoded = (
        reader.encode(MINILM_TEXTS) for reader in (minilm, MiniLM(device=device, dtype=torch.bfloat16))
    )
    assert encoded.states.dtype == torch.float32
    assert (encoded.sentences * expected.sentences).sum(-1).min() > 0.99


def test_padding_is_zero(minilm: MiniLM) -> None:
    encoded = minilm.encode(MINILM_TEXTS)
    assert encoded.states[~encoded.mask].abs().max() == 0


def test_a_long_text_is_cut_and_says_so(minilm: MiniLM) -> None:
    encoded = minilm.encode(["word " * 500, "short"])
    assert encoded.truncated == (True, False)
    assert encoded.states.shape[1] == minilm.max_tokens


@pytest.mark.parametrize("part", weights.FILES)
def test_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """A tokenizer that keeps capitals reads every question differently, and no other check would notice."""
    other = tmp_path / "other"
    paths = weights.locate()
    paths[weights.FILES.index(part)] = other
    monkeypatch.setattr(weights, "_cached", lambda: paths)
    with pytest.raises(EncoderNotFound, match=r"other is missing, which is a part of sentence-transformers"):
        find()
    other.write_bytes(b"something else")
    with pytest.raises(EncoderNotFound, match=r"other is not the one of sentence-transformers/.*: SHA-256"):
        find()


def test_readers_of_one_process_hold_equal_words_once() -> None:
    first, second = MiniLM(), MiniLM()
    assert first.words.data_ptr() == second.words.data_ptr()
    assert MiniLM.load() is MiniLM.load("cpu") is not first
    other = weights.share(first.words + 1)
    assert not other.equal(first.words)
    assert weights.share(other.double()).dtype == torch.float64
