"""A fact as rows: additions to the senses of the tokens of a question and of its answer.

Hewitt et al., arXiv:2305.16765, section 3: o_t = sum over l and j of alpha[l, t, j] C(x_j)_l. Edits never enter the
network that computes alpha, so what rows D add to the output is known before they are applied, and linear in them:

    sum over l and j of alpha[l, t, j] D[x_j, l] = d_t   for every step t of the answer, in every wording

d_t is the smallest push with which the answer's t-th token leads every other token by a margin in all wordings
(`find_push`). D is the solution of minimum norm. It is a product of weights and pushes, which is what a block stores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.backpack.editing.push import find_push
from models.backpack.network import Backpack, SenseEdits

MARGIN = 4.0  # logits by which each token of a fact's answer leads in the wordings that were given
ENOUGH = 1.0  # logits by which it has to lead in any other wording, before more is added for that wording
CUTOFF = (
    1e-5  # singular values below this share of the largest count as zero: they are rounding errors of alpha
)

Tokens = Sequence[int]


class Unreachable(ArithmeticError):
    """No rows let the answer be said. The text says which token is at fault."""


@dataclass(frozen=True)
class FactRows:
    """Additions to the senses of some tokens."""

    tokens: Int[Tensor, " token"]  # ascending
    values: Float[Tensor, "token sense width"]  # addition to each of their senses

    def look_up(self, ids: Int[Tensor, " place"]) -> Float[Tensor, "place sense width"]:
        """Return the additions to the senses of each of these tokens; zero for tokens without rows."""
        rows = torch.searchsorted(self.tokens, ids).clamp(max=len(self.tokens) - 1)
        has_rows = self.tokens[rows] == ids
        return self.values[rows] * has_rows[:, None, None]

    def add(self, other: "FactRows") -> "FactRows":
        """Return the sum of two sets of rows."""
        tokens = torch.unique(torch.cat([self.tokens, other.tokens]))
        return FactRows(tokens, self.look_up(tokens) + other.look_up(tokens))


@dataclass(frozen=True)
class Solution:
    """Rows as they are stored."""

    tokens: Int[Tensor, " token"]  # tokens that have rows, ascending
    # How much of each step's push each sense takes
    weights: Float[Tensor, "token sense step"]
    pushes: Float[Tensor, "step width"]  # push of each step of the answer

    @property
    def rows(self) -> FactRows:
        """The rows."""
        return FactRows(self.tokens, self.weights @ self.pushes)


@dataclass(frozen=True)
class ForcedReading:
    """A question with the answer behind it, up to the last step of the answer."""

    ids: Int[Tensor, " key"]
    alpha: Float[Tensor, "sense step key"]  # sense weights at each step
    logits: Float[Tensor, "step word"]  # logits of the next word at each step

    def gaps(self, answer: Tokens) -> Float[Tensor, "step word"]:
        """Return by how much each token of the answer leads each word; infinity for itself."""
        targets = torch.tensor(answer, device=self.logits.device)[:, None]
        gaps = self.logits.gather(-1, targets) - self.logits
        return gaps.scatter(-1, targets, float("inf"))

    def leads(self, answer: Tokens) -> Float[Tensor, " step"]:
        """Return by how much each token of the answer leads the best other word."""
        return self.gaps(answer).amin(-1)


def read_forced(
    model: Backpack, prompt: Tokens, answer: Tokens, edits: SenseEdits | None = None
) -> ForcedReading:
    """Read a prompt with all of an answer but its last token behind it."""
    ids = torch.tensor([*prompt, *answer[:-1]], device=model.embedding.device)
    reading = model(ids[None], None, edits)
    first = len(prompt) - 1
    return ForcedReading(ids, reading.alpha[0, :, first:], reading.logits[0, first:, : model.config.words])


def solve(
    model: Backpack, prompts: Sequence[Tokens], answer: Tokens, edits: SenseEdits | None = None
) -> Solution:
    """Return the smallest rows with which every prompt is completed by the answer.

    Raises:
        Unreachable: A token of the answer leads with no push.
    """
    readings = [read_forced(model, prompt, answer, edits) for prompt in prompts]
    leads = torch.stack([reading.gaps(answer) for reading in readings]).amin(0)
    pushes = _find_pushes(model, answer, MARGIN - leads.double())
    tokens, sums = _sum_weights(readings)
    steps = torch.eye(len(answer), dtype=torch.float64).repeat(len(readings), 1)
    solution = torch.linalg.lstsq(sums.cpu(), steps, rcond=CUTOFF, driver="gelsd").solution
    weights = solution.view(len(tokens), model.config.senses, len(answer))
    return Solution(tokens, weights.to(pushes.device).float(), pushes.float())


def complete_rows(
    model: Backpack, prompt: Tokens, answer: Tokens, rows: FactRows, edits: SenseEdits | None
) -> FactRows:
    """Return the rows of a fact with further rows for one wording.

    In a wording that was not given, or beside changed senses, the rows of the given wordings may not suffice; the
    smallest further change is added, for this question alone.
    """
    text_edits = TextEdits(edits, rows)
    if float(read_forced(model, prompt, answer, text_edits).leads(answer).min()) >= ENOUGH:
        return rows
    return rows.add(solve(model, [prompt], answer, text_edits).rows)


@dataclass(frozen=True)
class TextEdits:
    """The edits of one text: senses changed for all texts first, then the rows of the fact that it asks for."""

    senses: SenseEdits | None = None
    rows: FactRows | None = None

    def apply(
        self, ids: Int[Tensor, "batch token"], senses: Float[Tensor, "batch token sense width"]
    ) -> Float[Tensor, "batch token sense width"]:
        """Return the edited senses."""
        if self.senses is not None:
            senses = self.senses.apply(ids, senses)
        return senses if self.rows is None else senses + self.rows.look_up(ids.flatten()).view_as(senses)


def _find_pushes(
    model: Backpack, answer: Tokens, needs: Float[Tensor, "step word"]
) -> Float[Tensor, "step width"]:
    embedding = model.embedding[: model.config.words].double()
    pushes = [find_push(embedding, target, need) for target, need in zip(answer, needs, strict=True)]
    for step, push in enumerate(pushes):
        if push is None:
            raise Unreachable(
                f"token {step + 1} of the answer leads with no push: write the answer differently"
            )
    return torch.stack([push for push in pushes if push is not None])


def _sum_weights(
    readings: Sequence[ForcedReading],
) -> tuple[Int[Tensor, " token"], Float[Tensor, "row column"]]:
    """Return the tokens that are read, and how much each sense of each token weighs at each step of each wording."""
    tokens = torch.unique(torch.cat([reading.ids for reading in readings]))
    parts = []
    for reading in readings:
        n_senses, n_steps, _ = reading.alpha.shape
        places = torch.searchsorted(tokens, reading.ids).expand(n_senses, n_steps, -1)
        sums = reading.alpha.new_zeros(n_senses, n_steps, len(tokens), dtype=torch.float64)
        sums.scatter_add_(-1, places, reading.alpha.double())
        parts.append(sums.permute(1, 2, 0).flatten(1))
    return tokens, torch.cat(parts)
