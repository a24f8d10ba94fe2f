"""The network: causal, the same with a cache and in a batch, and GPT-2 inside."""

import pytest
import torch
from transformers import GPT2Config, GPT2Model

from models.backpack.editing.overlay import SenseOverlay
from models.backpack.network import Backpack
from tests.models.backpack.conftest import CONFIG

IDS = torch.tensor([[5, 9, 11, 5, 30, 2]])


def test_a_later_token_changes_nothing_before_it(backpack: Backpack) -> None:
    other = IDS.clone()
    other[0, 4] = 7
    first, second = backpack(IDS).logits, backpack(other).logits
    assert torch.equal(first[:, :4], second[:, :4])
    assert not torch.equal(first[:, 4:], second[:, 4:])


def test_reading_with_a_cache_equals_reading_in_one_go(backpack: Backpack) -> None:
    whole = backpack(IDS)
    reading = backpack(IDS[:, :3])
    for place in range(3, IDS.shape[1]):
        reading = backpack(IDS[:, place : place + 1], past=reading.cache)
    torch.testing.assert_close(reading.logits[:, -1], whole.logits[:, -1], atol=1e-5, rtol=0)
    torch.testing.assert_close(reading.alpha[:, :, -1], whole.alpha[:, :, -1], atol=1e-6, rtol=0)


def test_padding_before_a_text_does_not_matter(backpack: Backpack) -> None:
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), IDS], 1)
    is_real = torch.arange(9)[None] >= 3
    logits = backpack(padded, is_real).logits[:, 3:]
    torch.testing.assert_close(logits, backpack(IDS).logits, atol=1e-5, rtol=0)


def test_the_weights_of_each_sense_sum_to_one_over_the_words_read(backpack: Backpack) -> None:
    alpha = backpack(IDS).alpha
    assert float(alpha.min()) >= 0
    torch.testing.assert_close(alpha.sum(-1), torch.ones(alpha.shape[:-1]))


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_the_context_network_is_gpt2_with_scaled_attention(backpack: Backpack, implementation: str) -> None:
    config = GPT2Config(
        vocab_size=CONFIG.vocab,
        n_positions=CONFIG.positions,
        n_embd=CONFIG.width,
        n_layer=CONFIG.layers,
        n_head=CONFIG.heads,
        scale_attn_by_inverse_layer_idx=True,
        attn_implementation=implementation,
    )
    gpt2 = GPT2Model(config).eval()
    weights = backpack.gpt2_model.state_dict()
    gpt2.load_state_dict(
        {name: value.T if is_conv1d(name) else value for name, value in weights.items()}, strict=True
    )
    torch.testing.assert_close(backpack(IDS).context, gpt2(IDS).last_hidden_state, atol=1e-5, rtol=0)


def is_conv1d(name: str) -> bool:
    return name.endswith("weight") and any(part in name for part in ("c_attn", "c_proj", "c_fc"))


def test_an_edit_changes_no_bit_before_the_word_occurs(backpack: Backpack) -> None:
    overlay = SenseOverlay.of({30: (torch.randn(CONFIG.senses, CONFIG.width), torch.ones(CONFIG.senses))})
    before, after = backpack(IDS).logits, backpack(IDS, edits=overlay).logits
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_ids_that_stand_for_no_text_have_no_probability(backpack: Backpack) -> None:
    probabilities = backpack.mask_padding(backpack(IDS).logits).softmax(-1)
    assert float(probabilities[..., CONFIG.words :].abs().max()) == 0
