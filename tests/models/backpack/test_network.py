"""The network: causal, the same with a cache and in a batch, and GPT-2 inside.

The parts of a logit sum to it.
Senses as a person sees them: words by the words that each sense favours, and by their edits.
"""

import pytest
import torch
from transformers import GPT2Config, GPT2Model

from models.backpack.editing.overlay import SenseOverlay
from models.backpack.editing.sense import SenseChange
from models.backpack.explain import attribute
from models.backpack.memory import SensesMemory, SensesView
from models.backpack.network import Backpack
from models.backpack.system import BackpackSystem
from models.memory import FieldsChange
from models.senses import BadInquiry, HasSenses, SensesInquiry
from tests.models.backpack.conftest import CONFIG
from tests.models.backpack.test_system import view_of

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


ATTRIBUTION_IDS = torch.tensor([[5, 9, 30, 5, 12], [1, 2, 3, 4, 5]])


def test_what_words_and_senses_add_sums_to_the_log_odds(backpack: Backpack) -> None:
    reading = backpack(ATTRIBUTION_IDS)
    direction = backpack.embedding[7] - backpack.embedding[8]
    parts = attribute(reading, direction, row=1)
    odds = reading.logits[1, -1, 7] - reading.logits[1, -1, 8]
    torch.testing.assert_close(parts.sum(), odds, atol=1e-4, rtol=0)


def test_it_counts_edited_senses(backpack: Backpack) -> None:
    factors = torch.tensor([0.0, 2.0, 1.0, 1.0])
    overlay = SenseOverlay.of({30: (backpack.senses_of(torch.tensor(30)), factors)})
    reading = backpack(ATTRIBUTION_IDS, edits=overlay)
    parts = attribute(reading, backpack.embedding[7])
    torch.testing.assert_close(parts.sum(), reading.logits[0, -1, 7], atol=1e-4, rtol=0)
    assert float(parts[2, 0]) == 0


@pytest.fixture(scope="module")
def base(memory: SensesMemory) -> dict[str, SensesView]:
    return view_of(memory)


def weigh(name: str, word: str, factor: float, *senses: int) -> FieldsChange:
    return FieldsChange(
        name, "sense", SenseChange(word=word, action="factor", factor=factor, senses=senses or ())
    )


def test_a_sense_is_shown_by_the_words_that_it_favours(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    assert isinstance(system, HasSenses)
    word = system.show_senses(SensesInquiry("of", top_k=3), base)
    assert word.word == " of"
    model = system.reader.model
    assert [sense.number for sense in word.senses] == list(range(model.config.senses))
    rows = model.senses_of(torch.tensor([word.token], device=model.embedding.device))[0]
    for sense, row in zip(word.senses, rows, strict=True):
        logits = model.embedding @ row
        assert sense.top[0].logit == pytest.approx(float(logits.max()), rel=1e-4)
        assert sense.bottom[0].logit == pytest.approx(float(logits.min()), rel=1e-4)
        assert [word.logit for word in sense.top] == sorted((w.logit for w in sense.top), reverse=True)
        assert system.reader.speller.spell(sense.top[0].word)[-1:] != []
        assert (sense.strength, sense.factor, sense.edits) == (pytest.approx(sense.base_strength), 1.0, ())


def test_a_changed_sense_shows_its_edits_and_its_strength(
    memory: SensesMemory, system: BackpackSystem
) -> None:
    view = view_of(memory, weigh("e", " of", 0.5, 2), weigh("f", " of", 0.5), weigh("g", " the", 3.0))
    first, _, third, _ = system.show_senses(SensesInquiry(" of"), view).senses
    assert (first.edits, third.edits) == (("f",), ("e", "f"))
    assert (first.factor, third.factor) == (0.5, 0.25)
    assert third.strength == pytest.approx(third.base_strength / 4)
    (only,) = system.show_senses(SensesInquiry("of", senses=(2,)), view).senses
    assert only == third


def test_a_word_is_the_one_behind_a_space_unless_it_is_meant_exactly(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    behind, exact = (
        system.show_senses(SensesInquiry("a", senses=(0,), exact=is_exact), base)
        for is_exact in (False, True)
    )
    assert (behind.word, exact.word) == (" a", "a")
    assert behind.token != exact.token
    assert "at the start of a text" in behind.warnings[0]
    assert "behind a space" in exact.warnings[0]


@pytest.mark.parametrize(
    ("inquiry", "field", "text"),
    [
        (SensesInquiry("Zanzibarian"), "word", r"pieces \(' .*name one of them, or set first_piece"),
        (SensesInquiry("theee"), "word", "words of the vocabulary like it are 'the'"),
        (SensesInquiry(" "), "word", "the word is empty"),
        (SensesInquiry("of", senses=(9,)), "senses", "there is no sense 9: the senses are 0 to 3"),
        (SensesInquiry("of", senses=(-1,)), "senses", "there is no sense -1"),
    ],
)
def test_what_cannot_be_shown_says_what_could(
    system: BackpackSystem, base: dict[str, SensesView], inquiry: SensesInquiry, field: str, text: str
) -> None:
    with pytest.raises(BadInquiry, match=text) as error:
        system.show_senses(inquiry, base)
    assert error.value.field == field


def test_the_first_of_several_pieces_is_shown_on_request(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    word = system.show_senses(SensesInquiry("Zanzibarian", senses=(0,), first_piece=True), base)
    assert word.token == system.reader.speller.spell(" Zanzibarian")[0]
    assert "first one" in word.warnings[0]
