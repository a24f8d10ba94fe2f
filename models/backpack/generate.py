"""Generation with a cache: greedy or sampled, batched, a token a step.

The published code has no cache and drops the last token that it sampled; here every token is returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.backpack.network import Backpack, Cache, Reading, SenseEdits


@dataclass(frozen=True)
class Sampling:
    """The choice of the next token.

    Attributes:
        max_tokens: Longest continuation in tokens.
        temperature: Temperature of the draw; 0 takes the likeliest token.
        top_p: Probability mass of the likeliest tokens that are drawn from, in (0, 1].
        seed: Seed of the draws.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}: it has to be 1 at least")
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}: it has to be a finite number from 0 on")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}: it has to lie above 0 and up to 1")


@dataclass(frozen=True)
class Step:
    """One token of each text of the batch.

    Attributes:
        ids: Tokens; the end token for texts that ended before.
        log_probabilities: Their log-probabilities under the network, whatever the temperature.
        distribution: Log-probabilities of all tokens in their places.
    """

    ids: Int[Tensor, " text"]
    log_probabilities: Float[Tensor, " text"]
    distribution: Float[Tensor, "text vocab"]


class NotFinite(ArithmeticError):
    """The network computed a logit that is no finite number."""


@torch.inference_mode()
def generate(
    model: Backpack, prompts: Sequence[Sequence[int]], sampling: Sampling, edits: SenseEdits | None = None
) -> Iterator[Step]:
    """Continue each prompt until all have said the end token.

    Args:
        model: The network.
        prompts: Token ids; an empty prompt begins with the end token, a long one keeps its last `positions`.
        sampling: How tokens are chosen.
        edits: Edited senses.

    Yields:
        The next token of each text.

    Raises:
        ValueError: A prompt has an id that stands for no text.
        NotFinite: A logit is not finite; nothing is sampled from it.
    """
    ids, is_real = collate(model, prompts, sampling.max_tokens)
    generator = torch.Generator(ids.device).manual_seed(sampling.seed)
    reading = model(ids, is_real, edits)
    has_ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for n_said in range(1, sampling.max_tokens + 1):
        step = _choose(model, reading.logits[:, -1], has_ended, sampling, generator)
        yield step
        has_ended = has_ended | (step.ids == model.config.end)
        if has_ended.all() or n_said == sampling.max_tokens:
            return
        reading = _read_next(model, step.ids, reading.cache, edits)


def collate(
    model: Backpack, prompts: Sequence[Sequence[int]], n_more: int = 0
) -> tuple[Int[Tensor, "text token"], Bool[Tensor, "text token"]]:
    """Pad prompts on the left and cut them to what the positions hold.

    Args:
        model: The network.
        prompts: Token ids.
        n_more: Tokens that are to follow.

    Raises:
        ValueError: No prompt is given, an id stands for no text, or the continuation leaves no room for a prompt.
    """
    config = model.config
    room = config.positions - n_more
    if not prompts:
        raise ValueError("there is no prompt to continue")
    if room < 1:
        raise ValueError(
            f"{n_more} tokens cannot follow a prompt: the network has {config.positions} positions"
        )
    if any(not 0 <= id < config.words for prompt in prompts for id in prompt):
        raise ValueError(f"a prompt has an id outside of 0 to {config.words - 1}, which stands for no text")
    rows = [list(prompt)[-room:] or [config.end] for prompt in prompts]
    length = max(map(len, rows))
    device = model.embedding.device
    ids = torch.tensor([[config.end] * (length - len(row)) + row for row in rows], device=device)
    is_real = torch.tensor([[False] * (length - len(row)) + [True] * len(row) for row in rows], device=device)
    return ids, is_real


def _read_next(model: Backpack, ids: Tensor, past: Cache, edits: SenseEdits | None) -> Reading:
    reading: Reading = model(ids[:, None], None, edits, past)
    return reading


def _choose(
    model: Backpack, logits: Tensor, has_ended: Tensor, sampling: Sampling, generator: torch.Generator
) -> Step:
    if not logits.isfinite().all():
        raise NotFinite("the network computed a logit that is not finite: nothing is said")
    log_probabilities = model.mask_padding(logits).log_softmax(-1)
    if sampling.temperature == 0:
        ids = log_probabilities.argmax(-1)
    else:
        ids = _draw(log_probabilities / sampling.temperature, sampling.top_p, generator)
    log_probability = log_probabilities.gather(-1, ids[:, None]).squeeze(-1)
    end = torch.full_like(ids, model.config.end)
    return Step(
        torch.where(has_ended, end, ids), log_probability.masked_fill(has_ended, 0.0), log_probabilities
    )


def _draw(scores: Tensor, top_p: float, generator: torch.Generator) -> Int[Tensor, " text"]:
    """Draw from the likeliest tokens that hold `top_p` of the probability."""
    probabilities, ids = scores.softmax(-1).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities
    nucleus = probabilities.masked_fill(before >= top_p, 0.0)
    places = torch.multinomial(nucleus, 1, generator=generator)
    return ids.gather(-1, places).squeeze(-1)


@torch.inference_mode()
def score_continuation(
    model: Backpack, prompt: Sequence[int], continuation: Sequence[int], edits: SenseEdits | None = None
) -> Float[Tensor, " token"]:
    """Return the log-probability of each token of a continuation.

    Raises:
        ValueError: The continuation is empty, too long, or has an id that stands for no text.
    """
    if not continuation:
        raise ValueError("the continuation has no token")
    prompt = list(prompt) or [model.config.end]
    ids, is_real = collate(model, [[*prompt, *continuation]])
    if len(continuation) >= model.config.positions:
        raise ValueError(f"the continuation fills all {model.config.positions} positions")
    logits = model(ids, is_real, edits).logits[0, -len(continuation) - 1 : -1]
    log_probabilities = model.mask_padding(logits).log_softmax(-1)
    return log_probabilities.gather(-1, ids[0, -len(continuation) :, None]).squeeze(-1)
