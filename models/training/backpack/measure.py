"""What a network knows: perplexity, and closed-book answers that are right to the letter.

Both networks are measured by the same code, which reads a text anew at each token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.backpack.answering.prompt import Speller
from models.training.backpack.learning import Batches
from models.training.backpack.net import LanguageModel
from models.training.backpack.texts import Question

BATCH = 64
MAX_TOKENS = 48  # of an answer


@dataclass(frozen=True)
class Outcome:
    """One question as it was answered.

    Attributes:
        question: What was asked.
        answer: What was said.
        logprobs: Log-probability of each token, the end of the line included if it was said.
        finished: Whether the answer ended by itself.
    """

    question: Question
    answer: str
    logprobs: tuple[float, ...]
    finished: bool

    @property
    def is_right(self) -> bool:
        """True where the answer is right to the letter; an answer about an unknown name never is."""
        return self.finished and self.answer == self.question.answer != ""


@torch.inference_mode()
def put(net: LanguageModel, speller: Speller, questions: Sequence[Question]) -> list[Outcome]:
    """Ask questions without any text to read the answers from."""
    prompts = [speller.ask(question.text) for question in questions]
    order = sorted(range(len(questions)), key=lambda place: len(prompts[place]))
    outcomes: dict[int, Outcome] = {}
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        answers = _complete(net, speller, [prompts[place] for place in places])
        for place, (tokens, logprobs, finished) in zip(places, answers, strict=True):
            outcomes[place] = Outcome(questions[place], speller.say(tokens), logprobs, finished)
    return [outcomes[place] for place in range(len(questions))]


def share_right(outcomes: Sequence[Outcome]) -> float:
    """Return the share of right answers in per cent."""
    return 100 * sum(outcome.is_right for outcome in outcomes) / max(1, len(outcomes))


@torch.inference_mode()
def perplexity(net: LanguageModel, batches: Batches, documents: Sequence[str]) -> tuple[float, float]:
    """Return the perplexity of all tokens of documents, and that of the answers alone."""
    sums, counts = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    rows = sorted((batches.encode(document) for document in documents), key=len)
    for start in range(0, len(rows), BATCH):
        batch = batches.collate(rows[start : start + BATCH])
        logits = net.predict(batch.ids[:, :-1], batch.is_real[:, :-1])
        losses = F.cross_entropy(logits.flatten(0, 1).float(), batch.ids[:, 1:].flatten(), reduction="none")
        losses, weights = losses.double(), batch.weights[:, 1:].flatten()
        for kind, is_counted in enumerate((weights > 0, weights > 1)):
            sums[kind] += losses[is_counted].sum()
            counts[kind] += is_counted.sum()
    every, answers = (sums / counts.clamp(min=1)).tolist()
    return math.exp(every), math.exp(answers)


def _complete(
    net: LanguageModel, speller: Speller, prompts: Sequence[Sequence[int]]
) -> list[tuple[list[int], tuple[float, ...], bool]]:
    """Continue prompts greedily to the end of their lines."""
    length = max(map(len, prompts))
    ids = torch.tensor([[0] * (length - len(prompt)) + list(prompt) for prompt in prompts])
    is_real = torch.tensor([[False] * (length - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    steps: list[tuple[Tensor, Tensor]] = []
    has_ended = torch.zeros(len(prompts), dtype=torch.bool)
    while len(steps) < MAX_TOKENS and not has_ended.all():
        logprobs, tokens = net.predict(ids, is_real)[:, -1].float().log_softmax(-1).max(-1)
        steps.append((tokens, logprobs))
        has_ended = has_ended | (tokens == speller.stop)
        ids = torch.cat([ids, tokens[:, None]], 1)
        is_real = torch.cat([is_real, torch.ones(len(prompts), 1, dtype=torch.bool)], 1)
    columns = [torch.stack(column, 1).tolist() for column in zip(*steps, strict=True)]
    return [_cut(tokens, logprobs, speller.stop) for tokens, logprobs in zip(*columns, strict=True)]


def _cut(tokens: list[int], logprobs: list[float], stop: int) -> tuple[list[int], tuple[float, ...], bool]:
    """Return the tokens before the end of the line, the log-probabilities up to it, and whether it was said."""
    finished = stop in tokens
    end = tokens.index(stop) if finished else len(tokens)
    return tokens[:end], tuple(logprobs[: end + 1]), finished
