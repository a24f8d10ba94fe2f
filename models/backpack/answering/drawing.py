"""An answer that is drawn token by token, with its temperature, its limit, its stops and its seed.

It is generated with the cache (models/backpack/generate.py), to the end of its line at the latest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from models.backpack.answering.prompt import Speller
from models.backpack.generate import Sampling, Step, generate
from models.backpack.network import Backpack, SenseEdits
from models.system import SamplingOptions, TokenScore


@dataclass(frozen=True)
class Draft:
    """An answer in progress.

    Attributes:
        text: Its text; before its end, the part that no further token changes.
        tokens: Its tokens, without the end of the line.
        logprobs: Log-probability of each token that was said, those of a stop and of the end of the line included.
        scores: The tokens as a caller sees them; () if it did not ask for them.
        finish: How it ended; None before its end.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    scores: tuple[TokenScore, ...]
    finish: Literal["stop", "length"] | None


@torch.inference_mode()
def draw(
    model: Backpack,
    speller: Speller,
    prompt: Sequence[int],
    options: SamplingOptions,
    limit: int,
    edits: SenseEdits | None = None,
) -> Iterator[Draft]:
    """Yield the answer after each of its tokens, last with its finish.

    Args:
        model: The network.
        speller: Tokens as texts.
        prompt: Tokens of the question.
        options: How tokens are drawn, and where the answer stops.
        limit: Most tokens of the answer.
        edits: Edits of senses that act on the text.

    Raises:
        NotFinite: A logit is no finite number.
    """
    sampling = Sampling(limit, options.temperature, options.top_p, options.seed)
    tokens: list[int] = []
    logprobs: list[float] = []
    scores: list[TokenScore] = []
    for step in generate(model, [prompt], sampling, edits):
        token = int(step.ids)
        logprobs.append(float(step.log_probabilities))
        if token in (speller.stop, model.config.end):
            yield Draft(speller.say(tokens), tuple(tokens), tuple(logprobs), tuple(scores), "stop")
            return
        tokens.append(token)
        if options.logprobs is not None:
            scores.append(_score(speller, step, options.logprobs))
        text = speller.say(tokens)
        if (end := find_stop(text, options.stop)) is not None:
            yield _cut(speller, text[:end].rstrip(), tokens, logprobs, scores)
            return
        settled_text = hold_back(speller.settle(tokens), options.stop)
        yield Draft(settled_text, tuple(tokens), tuple(logprobs), tuple(scores), None)
    yield Draft(speller.say(tokens), tuple(tokens), tuple(logprobs), tuple(scores), "length")


def find_stop(text: str, stops: Sequence[str]) -> int | None:
    """Return the place of the first stop in a text; None without one."""
    return min((text.index(stop) for stop in stops if stop in text), default=None)


def hold_back(text: str, stops: Sequence[str]) -> str:
    """Return the beginning of an unfinished text that stays whatever follows: its end may begin a stop."""
    longest = max(map(len, stops), default=1)
    return text[: len(text) - longest + 1].rstrip() if longest > 1 else text


def _score(speller: Speller, step: Step, n_top: int) -> TokenScore:
    values, ids = step.distribution[0].topk(n_top)
    top = zip((speller.read([id]) for id in ids.tolist()), values.tolist(), strict=True)
    return TokenScore(speller.read([int(step.ids)]), float(step.log_probabilities), tuple(top))


def _cut(
    speller: Speller,
    text: str,
    tokens: Sequence[int],
    logprobs: Sequence[float],
    scores: Sequence[TokenScore],
) -> Draft:
    """Return the answer with a text that a stop cut, and the tokens that it needs."""
    count = next(count for count in range(len(tokens) + 1) if speller.say(tokens[:count]).startswith(text))
    return Draft(text, tuple(tokens[:count]), tuple(logprobs), tuple(scores[:count]), "stop")
