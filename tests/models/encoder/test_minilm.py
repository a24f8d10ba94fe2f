"""The encoder without padding is the pretrained encoder."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel

from models.encoder import weights
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderNotFound, find

TEXTS = [
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
    encoded = minilm.encode(TEXTS)
    for row, text in enumerate(TEXTS):
        ids, _ = minilm.tokens(text)
        expected = bert(input_ids=torch.tensor([ids])).last_hidden_state[0]
        torch.testing.assert_close(encoded.states[row, : len(ids)].cpu(), expected, atol=1e-5, rtol=1e-5)


def test_a_batch_reads_as_each_text_alone(minilm: MiniLM) -> None:
    together = minilm.encode(TEXTS)
    for row, text in enumerate(TEXTS):
        alone = minilm.encode([text])
        torch.testing.assert_close(
            together.states[row][together.mask[row]], alone.states[0], atol=1e-5, rtol=1e-5
        )


def test_in_bfloat16_sentences_mean_the_same_and_states_stay_float32(
    minilm: MiniLM, device: torch.device
) -> None:
    expected, encoded = (
        reader.encode(TEXTS) for reader in (minilm, MiniLM(device=device, dtype=torch.bfloat16))
    )
    assert encoded.states.dtype == torch.float32
    assert (encoded.sentences * expected.sentences).sum(-1).min() > 0.99


def test_padding_is_zero(minilm: MiniLM) -> None:
    encoded = minilm.encode(TEXTS)
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
