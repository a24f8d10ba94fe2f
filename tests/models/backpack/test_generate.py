"""Generation: greedy is the argmax, batches and caches change nothing, and bad input is named."""

import pytest
import torch

from models.backpack.generate import NotFinite, Sampling, Step, generate, score_continuation
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


def test_a_seed_gives_the_same_draws(backpack: Backpack) -> None:
    sampling = Sampling(6, temperature=1.0, seed=4)
    assert say(backpack, PROMPTS, sampling) == say(backpack, PROMPTS, sampling)
    assert say(backpack, PROMPTS, sampling) != say(backpack, PROMPTS, Sampling(6, temperature=1.0, seed=5))


def test_a_small_top_p_is_greedy(backpack: Backpack) -> None:
    sample = say(backpack, PROMPTS[:1], Sampling(5, temperature=1.0, top_p=1e-6))
    assert sample == say(backpack, PROMPTS[:1], Sampling(5))


def test_a_long_prompt_keeps_its_end(backpack: Backpack) -> None:
    prompt = [1 + place % 30 for place in range(60)]
    end = prompt[-(CONFIG.positions - 3) :]
    assert say(backpack, [prompt], Sampling(3)) == say(backpack, [end], Sampling(3))


def test_log_probabilities_are_those_of_the_continuation(backpack: Backpack) -> None:
    steps = list(generate(backpack, [PROMPTS[0]], Sampling(4)))
    tokens = [int(step.ids[0]) for step in steps]
    scores = score_continuation(backpack, PROMPTS[0], tokens)
    torch.testing.assert_close(
        scores, torch.stack([step.log_probabilities[0] for step in steps]), atol=1e-5, rtol=0
    )


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


def test_nothing_is_sampled_from_logits_that_are_not_finite(backpack: Backpack) -> None:
    broken = Backpack(CONFIG)
    broken.load_state_dict(backpack.state_dict())
    with torch.no_grad():
        broken.sense_network.final_mlp.c_proj.bias[0] = float("nan")
    with pytest.raises(NotFinite):
        next(generate(broken, [[5]], Sampling(2)))
