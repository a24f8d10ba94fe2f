"""The network that judges whether two questions ask for the same fact, on the questions alone.

One threshold on a sentence embedding confuses the relations of one subject, whose name dominates it. So a question is
read four times, by attention pooling over the encoder's states: what it is about (subject), what it asks of it
(relation), how its subject is spelt (name), and as a whole. A small network on the four cosines gives the log-odds. It
is trained on phrasings of relations and names of things, and never sees an edit, so edits stay independent and undo
stays exact.

The network never falls as a cosine rises (its weights are positive): two questions that read more alike are never
less the same one. So the sum of three cosines bounds its verdict, and among ten thousand gates one product finds all
that may open.

Spelling: to a language model French and Portuguese, sodium and potassium mean nearly the same. Each piece of a word
stands for 128 signs, drawn by SHA-256, and a name is the weighted sum of its pieces. Two names of three pieces that
share two have a cosine of about 2/3 (give or take 0.09), whatever they mean.
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from hashlib import sha256

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor, nn

from models.encoder.minilm import WIDTH

ASPECT = 128  # width of the subject's and the relation's reading
SIGNS = 128  # width of the name's
READINGS = [ASPECT, ASPECT, SIGNS, WIDTH]  # subject, relation, name, whole
KEY = sum(READINGS)
FIRST = KEY - WIDTH  # the readings by which gates are looked for: all but the whole
HIDDEN = 16
SHARP, MIDDLE = 8.0, 0.75  # where cosines of questions that are alike lie, and how finely they are told apart
GRID = 81  # steps from -1 to 1 in which each cosine is tried for the bound
PIECES = 30_522  # of the encoder's vocabulary
SILENT = (0, 101, 102)  # padding, and the marks at the beginning and the end of every text


class Scope(nn.Module):
    """Reads questions into keys, and scores pairs of keys. Always float32."""

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
        """Subject, relation, name and whole of each question, each of unit length, side by side.

        Args:
            states, ids, mask: as `models.encoder.minilm.Encoded` has them.
        """
        weights = self.attend(states).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        states_by_aspect = weights.transpose(1, 2) @ states
        name = (weights[..., 2:] * spelling(ids)).sum(1)
        whole = states.sum(1) / mask.sum(1, keepdim=True)
        parts = (
            self.read_subject(states_by_aspect[:, 0]),
            self.read_relation(states_by_aspect[:, 1]),
            name,
            whole,
        )
        return torch.cat([F.normalize(part, dim=-1) for part in parts], -1)

    def cosines(
        self, questions: Float[Tensor, "batch key"], gates: Float[Tensor, "gate key"]
    ) -> Float[Tensor, "batch gate 4"]:
        pairs = zip(split_key(questions), split_key(gates), strict=True)
        return torch.stack([question @ gate.T for question, gate in pairs], -1)

    def cosines_of_pairs(
        self, questions: Float[Tensor, "*pair key"], gates: Float[Tensor, "*pair key"]
    ) -> Float[Tensor, "*pair 4"]:
        return torch.stack([part.sum(-1) for part in split_key(questions * gates)], -1)

    def logit(self, cosines: Float[Tensor, "*pair 4"]) -> Float[Tensor, "*pair"]:
        """Log-odds that the two questions ask for the same fact; above zero the gate opens."""
        apart = SHARP * (cosines - MIDDLE)
        hidden = torch.tanh(F.linear(apart, F.softplus(self.hidden.weight), self.hidden.bias))
        logit: Tensor = F.linear(hidden, F.softplus(self.open.weight), self.open.bias).squeeze(-1)
        return logit

    @cached_property
    def open_bound(self) -> float:
        """A gate whose first three cosines sum to less than this stays shut, whatever the fourth is."""
        steps = torch.linspace(-1, 1, GRID, device=self.open.bias.device)
        grid = torch.cartesian_prod(steps, steps, steps.new_ones(1))
        sums = []
        with torch.no_grad():
            for first in steps.tolist():
                cosines = F.pad(grid, (1, 0), value=first)
                opens = self.logit(cosines) > 0
                sums.append(float(cosines[opens, :-1].sum(-1).min()) if opens.any() else float("inf"))
        return min(sums) - 3 * 2 / (GRID - 1)

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor], device: torch.device | str = "cpu") -> "Scope":
        scope = Scope()
        scope.load_state_dict(dict(weights))
        return scope.to(device).eval().requires_grad_(False)


def split_key(keys: Num[Tensor, "*n key"]) -> tuple[Tensor, ...]:
    """The four readings."""
    return torch.split(keys, READINGS, -1)


def spelling(ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sign"]:
    """A unit vector for each piece, zero for those that are no part of the text."""
    directions: Tensor = _signs(ids.device)[ids] * SIGNS**-0.5
    return directions


@lru_cache
def _signs(device: torch.device) -> Int[Tensor, "piece sign"]:
    """In 8 bits, 4 MB."""
    bits = b"".join(sha256(piece.to_bytes(4, "little")).digest()[: SIGNS // 8] for piece in range(PIECES))
    signs = np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).reshape(PIECES, SIGNS)
    vectors = torch.from_numpy(signs.astype(np.int8)).mul_(2).sub_(1)
    vectors[list(SILENT)] = 0
    return vectors.to(device)
