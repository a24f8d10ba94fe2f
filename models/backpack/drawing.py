"""An answer that is drawn token by token, with its temperature, its limit, its stops and its seed.

It ends at the end of its line at the latest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from models.backpack.generate import Completion, Task, draw_from
from models.backpack.network import Backpack
from models.backpack.speller import Speller
from models.kit.decoded import DecodedAnswer
from models.system import SamplingOptions, TokenScore


@dataclass(frozen=True)
class Draft:
    """An answer in progress."""

    text: str  # before its end, the part that no further token changes
    tokens: tuple[int, ...]  # without the end of the line
    logprobs: tuple[float, ...]  # a stop and the end of the line are included
    scores: tuple[TokenScore, ...]  # the tokens as a caller sees them; () if it did not ask for them
    finish: Literal["stop", "length"] | None  # None before its end


@torch.inference_mode()
def draw(model: Backpack, speller: Speller, task: Task, options: SamplingOptions) -> Iterator[Draft]:
    """Yield the answer after each of its tokens, last with its finish; raise NotFinite if a logit is not finite."""
    generator = torch.Generator(model.embedding.device).manual_seed(options.seed)
    choose = draw_from(options.temperature, options.top_p, generator)
    completion = Completion(model, [task], speller.stop, choose)
    scores: list[TokenScore] = []
    is_going = True
    while is_going:
        (answer,) = completion.answers
        text = speller.say(answer.tokens)
        if answer.finished:
            yield _write(answer, text, scores, "stop")
            return
        if options.logprobs is not None:
            scores.append(_score(speller, completion, answer, options.logprobs))
        if (end := find_stop(text, options.stop)) is not None:
            yield _cut(speller, text[:end].rstrip(), answer, scores)
            return
        yield _write(answer, hold_back(speller.settle(answer.tokens), options.stop), scores, None)
        is_going = completion.advance()
    yield _write(answer, text, scores, "length")


def find_stop(text: str, stops: Sequence[str]) -> int | None:
    """Return the place of the first stop in a text; None without one."""
    return min((text.index(stop) for stop in stops if stop in text), default=None)


def hold_back(text: str, stops: Sequence[str]) -> str:
    """Return the beginning of an unfinished text that stays whatever follows: its end may begin a stop."""
    longest = max(map(len, stops), default=1)
    return text[: len(text) - longest + 1].rstrip() if longest > 1 else text


def _write(
    answer: DecodedAnswer, text: str, scores: Sequence[TokenScore], finish: Literal["stop", "length"] | None
) -> Draft:
    return Draft(text, answer.tokens, answer.logprobs, tuple(scores), finish)


def _score(speller: Speller, completion: Completion, answer: DecodedAnswer, n_top: int) -> TokenScore:
    values, ids = completion.logprobs[0].topk(n_top)
    top = zip((speller.read([id]) for id in ids.tolist()), values.tolist(), strict=True)
    return TokenScore(speller.read(answer.tokens[-1:]), answer.logprobs[-1], tuple(top))


def _cut(speller: Speller, text: str, answer: DecodedAnswer, scores: Sequence[TokenScore]) -> Draft:
    """Return the answer with a text that a stop cut, and the tokens that it needs."""
    tokens = answer.tokens
    count = next(count for count in range(len(tokens) + 1) if speller.say(tokens[:count]).startswith(text))
    return Draft(text, tokens[:count], answer.logprobs, tuple(scores[:count]), "stop")
