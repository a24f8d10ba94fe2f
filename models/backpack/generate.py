"""Texts that are completed with a cache: greedily or drawn, a token a step, or scored against given answers.

The published code has no cache and drops the last token that it sampled; here every token is returned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from more_itertools import chunked
from torch import Tensor

from models.backpack.network import Backpack, Reading, SenseEdits
from models.kit.decoded import Answers, DecodedAnswer

TOO_LONG = -1e6  # below the log-probability of any text that the network reads
BATCH = 32  # candidates that are read together; each has a copy of the question's cache

Draw: TypeAlias = Callable[[Float[Tensor, "row vocab"]], Int[Tensor, " row"]]
"""Takes log-probabilities and returns the next token of each row."""


class NotFinite(ArithmeticError):
    """The network computed a logit that is no finite number."""


@dataclass(frozen=True)
class Task:
    """One text to complete."""

    prompt: Sequence[int]
    limit: int  # most tokens of the answer, its end included
    branches: int = 1  # likeliest first tokens that are continued
    edits: SenseEdits | None = None  # they act on this text alone


@dataclass(frozen=True)
class BatchEdits:
    """The edits of each text of a batch."""

    by_row: tuple[SenseEdits | None, ...]

    def apply(
        self, ids: Int[Tensor, "batch token"], senses: Float[Tensor, "batch token sense width"]
    ) -> Float[Tensor, "batch token sense width"]:
        """Return the senses of each text under its edits."""
        if not any(self.by_row):
            return senses
        rows = [
            senses[row : row + 1] if edits is None else edits.apply(ids[row : row + 1], senses[row : row + 1])
            for row, edits in enumerate(self.by_row)
        ]
        return torch.cat(rows)

    def select(self, rows: Sequence[int]) -> "BatchEdits":
        """Return the edits of some rows."""
        return BatchEdits(tuple(self.by_row[row] for row in rows))


class Completion:
    """Texts that are completed together, a token a step.

    Each text begins with its likeliest first tokens, each of which is a separate row from then on.

    Args:
        model: The network.
        tasks: The texts.
        stop: Token that ends an answer.
        draw: Chooses each token; None takes the likeliest. A text that is drawn has one branch.

    Raises:
        ValueError: No text is given, or an id stands for none.
        NotFinite: A logit is no finite number.
    """

    def __init__(self, model: Backpack, tasks: Sequence[Task], stop: int, draw: Draw | None = None) -> None:
        self._model, self._branches, self._draw = model, [task.branches for task in tasks], draw
        ids, is_real = collate(model, [task.prompt for task in tasks])
        edits = BatchEdits(tuple(task.edits for task in tasks))
        reading = model(ids, is_real, edits)
        rows = [row for row, count in enumerate(self._branches) for _ in range(count)]
        self._answers = Answers([tasks[row].limit for row in rows], frozenset({stop, model.config.end}))
        self._cache = reading.cache.select(torch.tensor(rows, device=ids.device))
        self._edits = edits.select(rows)
        logprobs = predict(model, reading.logits[:, -1])
        firsts = list_firsts(logprobs, self._branches) if draw is None else draw(logprobs)
        self.logprobs, self._tokens = (
            logprobs[rows],
            firsts,
        )  # log-probabilities of all tokens in the last places
        self._keep()

    @property
    def answers(self) -> list[DecodedAnswer]:
        """Return the answers so far, one for each text."""
        return self._answers.group(self._branches)

    def advance(self) -> bool:
        """Say one more token of each text that has not ended; False where all have."""
        places = self._answers.leave()
        if places == []:
            return False
        if places is not None:
            index = torch.tensor(places, device=self._tokens.device)
            self._cache, self._tokens = self._cache.select(index), self._tokens[index]
            self._edits = self._edits.select(places)
        reading = self._model(self._tokens[:, None], None, self._edits, self._cache)
        self._cache = reading.cache
        logprobs = predict(self._model, reading.logits[:, -1])
        self.logprobs = logprobs
        self._tokens = logprobs.max(-1).indices if self._draw is None else self._draw(logprobs)
        self._keep()
        return True

    def _keep(self) -> None:
        logprobs = self.logprobs.gather(-1, self._tokens[:, None]).squeeze(-1)
        self._answers.add(self._tokens.tolist(), logprobs.tolist())


def complete(model: Backpack, tasks: Sequence[Task], stop: int) -> list[DecodedAnswer]:
    """Complete texts together, greedily; raise NotFinite if a logit is no finite number."""
    completion = Completion(model, tasks, stop)
    while completion.advance():
        pass
    return completion.answers


def collate(
    model: Backpack, prompts: Sequence[Sequence[int]]
) -> tuple[Int[Tensor, "text token"], Bool[Tensor, "text token"]]:
    """Pad prompts on the left and cut them to what the positions hold; an empty one begins with the end token.

    Raises:
        ValueError: No prompt is given, or an id stands for no text.
    """
    config = model.config
    if not prompts:
        raise ValueError("there is no prompt to continue")
    if any(not 0 <= id < config.words for prompt in prompts for id in prompt):
        raise ValueError(f"a prompt has an id outside of 0 to {config.words - 1}, which stands for no text")
    rows = [list(prompt)[-config.positions :] or [config.end] for prompt in prompts]
    length = max(map(len, rows))
    device = model.embedding.device
    ids = torch.tensor([[config.end] * (length - len(row)) + row for row in rows], device=device)
    is_real = torch.tensor([[False] * (length - len(row)) + [True] * len(row) for row in rows], device=device)
    return ids, is_real


def predict(model: Backpack, logits: Float[Tensor, "row vocab"]) -> Float[Tensor, "row vocab"]:
    """Return the log-probabilities of the next tokens."""
    if not logits.isfinite().all():
        raise NotFinite("the network computed a logit that is not finite: nothing is said")
    return model.mask_padding(logits).log_softmax(-1)


def list_firsts(logprobs: Float[Tensor, "task vocab"], branches: Sequence[int]) -> Int[Tensor, " row"]:
    """Return the likeliest first tokens of each text, as many as it has branches."""
    top = logprobs.topk(max(branches), -1).indices
    return torch.cat([row[:count] for row, count in zip(top, branches, strict=True)])


def draw_from(temperature: float, top_p: float, generator: torch.Generator) -> Draw | None:
    """Return a draw from the likeliest tokens that hold `top_p` of the probability; None for the temperature 0."""

    def draw(logprobs: Float[Tensor, "row vocab"]) -> Int[Tensor, " row"]:
        probabilities, ids = (logprobs / temperature).softmax(-1).sort(-1, descending=True)
        before = probabilities.cumsum(-1) - probabilities
        nucleus = probabilities.masked_fill(before >= top_p, 0.0)
        places = torch.multinomial(nucleus, 1, generator=generator)
        return ids.gather(-1, places).squeeze(-1)

    return draw if temperature else None


def score_candidates(
    model: Backpack,
    prompt: Sequence[int],
    candidates: Sequence[Sequence[int]],
    edits: SenseEdits | None = None,
) -> list[float]:
    """Return the log-probability of each candidate, its end included, as a whole behind a prompt.

    The question is read once for all candidates, and they are read behind it in batches. The score is TOO_LONG for a
    candidate that leaves no room for the prompt; one that leaves too little is read behind the end of the prompt.
    """
    room = model.config.positions - len(prompt)
    fitting = [place for place, candidate in enumerate(candidates) if len(candidate) <= room]
    scores = {
        place: _score_alone(model, prompt, candidate, edits)
        for place, candidate in enumerate(candidates)
        if len(candidate) > room
    }
    question = _read(model, prompt, edits) if fitting else None
    # Candidates of one length have no padding between them.
    for places in chunked(sorted(fitting, key=lambda place: len(candidates[place])), BATCH):
        assert question is not None, "some candidate fits"
        batch = [candidates[place] for place in places]
        scores |= dict(zip(places, _score_together(model, question, batch, edits), strict=True))
    return [scores[place] for place in range(len(candidates))]


def _read(model: Backpack, tokens: Sequence[int], edits: SenseEdits | None) -> Reading:
    ids, _ = collate(model, [tokens])
    reading: Reading = model(ids, None, edits)
    return reading


def _score_together(
    model: Backpack, question: Reading, candidates: Sequence[Sequence[int]], edits: SenseEdits | None
) -> list[float]:
    """Score candidates behind a question that was read."""
    length, device = max(map(len, candidates)), model.embedding.device
    pad = model.config.end
    ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in candidates], device=device)
    lengths = torch.tensor(list(map(len, candidates)), device=device)
    is_real = torch.arange(length, device=device) < lengths[:, None]
    logits = question.logits[:, -1:].expand(len(candidates), -1, -1)
    if length > 1:
        cache = question.cache.select(torch.zeros(len(candidates), dtype=torch.long, device=device))
        logits = torch.cat([logits, model(ids[:, :-1], is_real[:, :-1], edits, cache).logits], 1)
    logprobs = model.mask_padding(logits).log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    scores: list[float] = logprobs.double().masked_fill(~is_real, 0.0).sum(-1).tolist()
    return scores


def _score_alone(
    model: Backpack, prompt: Sequence[int], candidate: Sequence[int], edits: SenseEdits | None
) -> float:
    """Score a candidate that leaves no room for the whole prompt."""
    room = model.config.positions - len(candidate)
    if room < 1:
        return TOO_LONG
    return _score_together(model, _read(model, list(prompt)[-room:], edits), [candidate], edits)[0]


def rank(scores: Sequence[float]) -> list[int]:
    """Return the places of candidates, the best first and equal ones in their order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])
