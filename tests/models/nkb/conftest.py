"""Small T5s with random weights, and questions of different lengths for them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, T5Config, T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.kit.decoded import DecodedAnswer
from models.nkb.bank import BankConfig, mount
from models.nkb.decode import Decoder
from tests.one_thread import one_thread as one_thread

VOCABULARY, WIDTH, LAYERS = 120, 32, 3


@dataclass(frozen=True)
class Questions:
    """Encoder states as a model would leave them. Padded states hold noise, which must not be read."""

    states: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.mask)

    def row(self, index: int) -> "Questions":
        """Return one question alone, without its padding."""
        real = self.mask[index].bool()
        return Questions(self.states[index : index + 1, real], self.mask[index : index + 1, real])


@pytest.fixture(
    params=["relu", "gelu", "gated-gelu", "gated-silu", "relu with adapter", "gated-gelu with adapter"]
)
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return options of `build` for every kind of feed-forward block and bank."""
    activation, adapter, _ = request.param.partition(" with adapter")
    return {"feed_forward_proj": activation, "adaptive": bool(adapter)}


@pytest.fixture
def build() -> Callable[..., T5ForConditionalGeneration]:
    """Build a T5 with random weights; `layers` names those that get a bank."""

    def make(
        layers: tuple[int, ...] = (LAYERS - 1,),
        *,
        size: int = 48,
        adaptive: bool = False,
        fills: bool = True,
        seed: int = 3,
        **config: Any,
    ) -> T5ForConditionalGeneration:
        torch.manual_seed(seed)
        t5 = T5ForConditionalGeneration(small_config(**config)).eval()
        with torch.no_grad():
            t5.shared.weight *= 0.02  # otherwise each token is followed by itself
            t5.shared.weight[1] *= 1.6  # otherwise hardly an answer ends early
        config = BankConfig(layers, size, adaptive)
        return mount_full(t5, config) if fills else mount(t5, config)

    return make


def mount_full(t5: T5ForConditionalGeneration, config: BankConfig) -> T5ForConditionalGeneration:
    """Mount banks with torch's first values everywhere, as the authors do, so that they change every answer."""
    state = torch.get_rng_state()
    mount(t5, config)
    torch.set_rng_state(state)
    for name, module in t5.named_modules():
        if name.endswith(("wi_ex", "wo_ex", "ex_ada_in", "ex_ada_out")):
            module.reset_parameters()
    return t5


def small_config(**changes: Any) -> T5Config:
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": 8, "d_ff": 64, "num_heads": 4}
    layers = {"num_layers": LAYERS, "num_decoder_layers": LAYERS}
    return T5Config(**(sizes | layers | {"decoder_start_token_id": 0} | changes))


@pytest.fixture
def questions() -> Questions:
    torch.manual_seed(1)
    mask = torch.ones(12, 9, dtype=torch.long)
    for row, length in enumerate((9, 5, 2, 7, 1, 9, 4, 8, 3, 6, 7, 9)):
        mask[row, length:] = 0
    return Questions(2 * torch.randn(12, 9, WIDTH), mask)


@pytest.fixture
def generate() -> Callable[[T5ForConditionalGeneration, Questions, int], list[list[int]]]:
    """Generate with transformers: tokens after the start, up to and with the end token."""

    def answer(t5: T5ForConditionalGeneration, questions: Questions, max_tokens: int) -> list[list[int]]:
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        read = BaseModelOutput(last_hidden_state=questions.states)
        rows = t5.generate(
            encoder_outputs=read,
            attention_mask=questions.mask,
            max_new_tokens=max_tokens,
            do_sample=False,
            cache=cache,
        )
        return [row[: row.index(1) + 1] if 1 in row else row for row in rows[:, 1:].tolist()]

    return answer


@pytest.fixture
def forced_logits() -> Callable[[T5ForConditionalGeneration, Questions, Tensor], Tensor]:
    """Compute transformers' logits with the targets, shifted right, as the decoder's input."""

    @torch.no_grad()
    def logits(t5: T5ForConditionalGeneration, questions: Questions, targets: Tensor) -> Tensor:
        read = BaseModelOutput(last_hidden_state=questions.states)
        inputs = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], 1)
        out: Tensor = t5(encoder_outputs=read, attention_mask=questions.mask, decoder_input_ids=inputs).logits
        return out

    return logits


@pytest.fixture
def answers() -> Callable[..., list[list[int]]]:
    """Return the decoder's answers, spelt as `generate` spells them."""

    def answer(decoder: Decoder, questions: Questions, max_tokens: int, **options: Any) -> list[list[int]]:
        answers = decoder.generate(questions.states, questions.mask, max_tokens=max_tokens, **options)
        return [[*answer.tokens, *([1] if answer.finished else [])] for answer in answers]

    return answer


def assert_same(actual: DecodedAnswer, expected: DecodedAnswer) -> None:
    assert actual.tokens == expected.tokens
    assert actual.finished == expected.finished
    assert actual.logprobs == pytest.approx(expected.logprobs, abs=1e-5)
