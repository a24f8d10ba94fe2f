"""Whether a question asks for the fact an edit is about, decided on the question and not in the decoder.

A decoder key follows an edit into phrasings it never saw in about a third of cases, and one threshold on a sentence
embedding confuses the relations of one subject, whose name dominates it. So the question is read four times, by
attention pooling over the encoder's states: what it is about (subject), what it asks of it (relation), how its
subject is spelt (name: the same attention over the words as they are before any layer, for to a language model Peru
and Chile mean nearly the same), and as a whole. A small network on the four cosines says how likely two questions ask
for the same fact. It is trained on the pack's phrasings only and never sees an edit, so edits stay independent and
undo stays exact.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.encoder.minilm import WIDTH

ASPECT = 128  # width of the subject's, the relation's and the name's reading
READINGS = [ASPECT, ASPECT, ASPECT, WIDTH]  # subject, relation, name, whole
KEY = sum(READINGS)
HIDDEN = 16


class Scope(nn.Module):
    """Reads questions into keys, and scores pairs of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(WIDTH, 2)
        self.read_subject = nn.Linear(WIDTH, ASPECT, bias=False)
        self.read_relation = nn.Linear(WIDTH, ASPECT, bias=False)
        self.read_name = nn.Linear(WIDTH, ASPECT, bias=False)
        self.hidden = nn.Linear(len(READINGS), HIDDEN)
        self.open = nn.Linear(HIDDEN, 1)

    def key(
        self,
        states: Float[Tensor, "batch token width"],
        words: Float[Tensor, "batch token width"],
        mask: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch key"]:
        """Subject, relation, name and whole, each of unit length, side by side."""
        weights = self.attend(states).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        pooled = weights.transpose(1, 2) @ states
        spelt = (weights[..., :1] * words).sum(1)
        whole = states.sum(1) / mask.sum(1, keepdim=True)
        parts = (
            self.read_subject(pooled[:, 0]),
            self.read_relation(pooled[:, 1]),
            self.read_name(spelt),
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
        logit: Tensor = self.open(F.gelu(self.hidden(cosines))).squeeze(-1)
        return logit

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor]) -> "Scope":
        scope = Scope()
        scope.load_state_dict(dict(weights))
        return scope.eval().requires_grad_(False)


def _parts(keys: Float[Tensor, "*n key"]) -> tuple[Tensor, ...]:
    return torch.split(keys, READINGS, -1)
