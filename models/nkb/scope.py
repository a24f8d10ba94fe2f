"""Whether a question asks for the fact an edit is about, decided on the question and not in the decoder.

A decoder key follows an edit into phrasings it never saw in about a third of cases, and one threshold on a sentence
embedding confuses the relations of one subject, whose name dominates it. So the question is read four times, by
attention pooling over the encoder's states: what it is about (subject), what it asks of it (relation), how its
subject is spelt (name: over the pieces of its words themselves, spelling.py), and as a whole. A small network on the
four cosines says how likely two questions ask for the same fact. It is trained on phrasings of relations and names of
things, and never sees an edit, so edits stay independent and undo stays exact.

The network never falls as a cosine rises (its weights are positive): two questions that read more alike are never
less the same one. So the sum of three cosines bounds its verdict, and among ten thousand gates one product finds all
that may open.
"""

from collections.abc import Mapping
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.encoder.minilm import WIDTH
from models.nkb.spelling import SIGNS, spelling

ASPECT = 128  # width of the subject's and the relation's reading
READINGS = [ASPECT, ASPECT, SIGNS, WIDTH]  # subject, relation, name, whole
KEY = sum(READINGS)
FIRST = KEY - WIDTH  # the readings by which gates are looked for: all but the whole
HIDDEN = 16
SHARP, MIDDLE = 8.0, 0.75  # where cosines of questions that are alike lie, and how finely they are told apart
GRID = 81  # steps from -1 to 1 in which each cosine is tried for the bound


class Scope(nn.Module):
    """Reads questions into keys, and scores pairs of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(WIDTH, 3)  # subject, relation, name
        self.read_subject = nn.Linear(WIDTH, ASPECT, bias=False)
        self.read_relation = nn.Linear(WIDTH, ASPECT, bias=False)
        self.hidden = nn.Linear(len(READINGS), HIDDEN)
        self.open = nn.Linear(HIDDEN, 1)

    def key(
        self,
        states: Float[Tensor, "batch token width"],
        ids: Int[Tensor, "batch token"],
        mask: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch key"]:
        """Subject, relation, name and whole, each of unit length, side by side."""
        weights = self.attend(states).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        pooled = weights.transpose(1, 2) @ states
        spelt = (weights[..., 2:] * spelling(ids)).sum(1)
        whole = states.sum(1) / mask.sum(1, keepdim=True)
        parts = (
            self.read_subject(pooled[:, 0]),
            self.read_relation(pooled[:, 1]),
            spelt,
            whole,
        )
        return torch.cat([F.normalize(part, dim=-1) for part in parts], -1)

    def cosines(
        self, asked: Float[Tensor, "batch key"], keys: Float[Tensor, "edit key"]
    ) -> Float[Tensor, "batch edit 4"]:
        pairs = zip(_parts(asked), _parts(keys), strict=True)
        return torch.stack([left @ right.T for left, right in pairs], -1)

    def cosines_of_pairs(
        self, asked: Float[Tensor, "*pair key"], keys: Float[Tensor, "*pair key"]
    ) -> Float[Tensor, "*pair 4"]:
        return torch.stack([part.sum(-1) for part in _parts(asked * keys)], -1)

    def logit(self, cosines: Float[Tensor, "*pair 4"]) -> Float[Tensor, "*pair"]:
        """Log-odds that the two questions ask for the same fact; above zero the gate opens."""
        apart = SHARP * (cosines - MIDDLE)
        hidden = torch.tanh(F.linear(apart, F.softplus(self.hidden.weight), self.hidden.bias))
        logit: Tensor = F.linear(hidden, F.softplus(self.open.weight), self.open.bias).squeeze(-1)
        return logit

    @cached_property
    def least(self) -> float:
        """A gate whose first three cosines sum to less than this stays shut, whatever the fourth is."""
        steps = torch.linspace(-1, 1, GRID)
        others = torch.cartesian_prod(steps, steps, torch.ones(1))
        sums = [self._least_sum(F.pad(others, (1, 0), value=float(first))) for first in steps]
        return min(sums) - 3 * 2 / (GRID - 1)

    @torch.no_grad()
    def _least_sum(self, cosines: Float[Tensor, "pair 4"]) -> float:
        """Of the first three cosines of those that open; infinity where none does."""
        opens = self.logit(cosines) > 0
        return float(cosines[opens, :-1].sum(-1).min()) if opens.any() else float("inf")

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor]) -> "Scope":
        scope = Scope()
        scope.load_state_dict(dict(weights))
        return scope.eval().requires_grad_(False)


def _parts(keys: Float[Tensor, "*n key"]) -> tuple[Tensor, ...]:
    return torch.split(keys, READINGS, -1)
