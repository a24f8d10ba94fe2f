"""Generation: greedy is the argmax, batches and caches change nothing, and bad input is named."""

import pytest
import torch

from models.backpack.generate import Sampling, Step, generate
from models.backpack.network import Backpack
from tests.models.backpack.conftest import CONFIG

PROMPTS = [[5, 9, 11], [30], []]


def say(backpack: Backpack, prompts: list[list[int]], sampling: Sampling) -> list[list[int]]:
    steps: list[Step] = list(generate(backpack, prompts, sampling))
    return torch.stack([step.ids for step in steps], 1).tolist()


def test_greedy_generation_says_the_likeliest_word_each_time(backpack: Backpack) -> None:
    (tokens,) = say(backpack, [PROMPTS[0]], Sampling(max_tokens=5))
    ids = list(PROMPTS[0])
    for token in tokens:
        logits = backpack.mask_padding(backpack(torch.tensor([ids])).logits[0, -1])
        assert token == int(logits.argmax())
        ids.append(token)


@pytest.mark.parametrize("sampling", [Sampling(5), Sampling(5, temperature=0.0, top_p=0.5)])
def test_a_batch_says_what_each_prompt_says_alone(backpack: Backpack, sampling: Sampling) -> None:
    together = say(backpack, PROMPTS, sampling)
    for prompt, tokens in zip(PROMPTS, together, strict=True):
        (alone,) = say(backpack, [prompt], sampling)
        assert tokens[: len(alone)] == alone


@pytest.mark.parametrize(
    ("prompts", "message"),
    [([], "no prompt"), ([[CONFIG.words]], "stands for no text"), ([[-1]], "stands for no text")],
)
def test_a_bad_prompt_is_refused(backpack: Backpack, prompts: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(generate(backpack, prompts, Sampling(2)))


@pytest.mark.parametrize(
    "options", [{"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_a_bad_option_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Sampling(**{"max_tokens": 2, **options})  # type: ignore[arg-type]
