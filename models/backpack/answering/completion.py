"""Answers by completion: greedy, batched, with a cache, to the end of the line."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.backpack.generate import NotFinite, collate
from models.backpack.network import Backpack, SenseEdits
from models.nkb.answers import Answers, DecodedAnswer


@dataclass(frozen=True)
class Task:
    """One text to complete.

    Attributes:
        prompt: Tokens of the question.
        limit: Most tokens of the answer, its end included.
        branches: Number of the likeliest first tokens that are continued.
        edits: Edits of senses that act on this text alone.
    """

    prompt: Sequence[int]
    limit: int
    branches: int = 1
    edits: SenseEdits | None = None


@dataclass(frozen=True)
class BatchEdits:
    """The edits of each text of a batch.

    Attributes:
        by_row: Edits of each row; None without any.
    """

    by_row: tuple[SenseEdits | None, ...]

    def apply(
        self,
        ids: Int[Tensor, "batch token"],
        senses: Float[Tensor, "batch token sense width"],
        past: Int[Tensor, "batch earlier"],
    ) -> Float[Tensor, "batch token sense width"]:
        """Return the senses of each text under its edits."""
        if not any(self.by_row):
            return senses
        rows = [
            senses[row : row + 1]
            if edits is None
            else edits.apply(ids[row : row + 1], senses[row : row + 1], past[row : row + 1])
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

    Raises:
        NotFinite: A logit is no finite number.
    """

    def __init__(self, model: Backpack, tasks: Sequence[Task], stop: int) -> None:
        self._model, self._branches = model, [task.branches for task in tasks]
        ids, is_real = collate(model, [task.prompt for task in tasks])
        edits = BatchEdits(tuple(task.edits for task in tasks))
        reading = model(ids, is_real, edits)
        logprobs, self._tokens, rows = _branch(_predict(model, reading.logits[:, -1]), self._branches)
        self._answers = Answers([tasks[row].limit for row in rows], frozenset({stop, model.config.end}))
        self._cache = reading.cache.select(torch.tensor(rows, device=ids.device))
        self._edits = edits.select(rows)
        self._answers.add(self._tokens.tolist(), logprobs.tolist())

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
        logprobs, self._tokens = _predict(self._model, reading.logits[:, -1]).max(-1)
        self._answers.add(self._tokens.tolist(), logprobs.tolist())
        return True


def complete(model: Backpack, tasks: Sequence[Task], stop: int) -> list[DecodedAnswer]:
    """Complete texts together.

    Raises:
        NotFinite: A logit is no finite number.
    """
    completion = Completion(model, tasks, stop)
    while completion.advance():
        pass
    return completion.answers


def _predict(model: Backpack, logits: Float[Tensor, "row vocab"]) -> Float[Tensor, "row vocab"]:
    """Return the log-probabilities of the next tokens."""
    if not logits.isfinite().all():
        raise NotFinite("the network computed a logit that is not finite: nothing is said")
    return model.mask_padding(logits).log_softmax(-1)


def _branch(
    logprobs: Float[Tensor, "task vocab"], branches: Sequence[int]
) -> tuple[Float[Tensor, " row"], Int[Tensor, " row"], list[int]]:
    """Return the likeliest first tokens of each text, and which text each row belongs to."""
    top = logprobs.topk(max(branches), -1)
    places = [(row, place) for row, count in enumerate(branches) for place in range(count)]
    rows, columns = zip(*places, strict=True)
    return top.values[rows, columns], top.indices[rows, columns], list(rows)
