"""The network that learns to read a question's subject: only that reading is served (`models/nkb/reader.py`).

It learns to tell whether two questions ask for the same fact from four cosines: of their subjects, of their
relations, of the spelling of their subjects (name), and of the whole questions. Since the other three have readings,
that of the subject is about the subject alone.

The name is needed because a language model takes French and Portuguese, or sodium and potassium, for nearly the same.
Each piece of a word stands for 128 signs, drawn by SHA-256, and a name is the weighted sum of its pieces. Two names
of three pieces that share two have a cosine of about 2/3 (give or take 0.09), whatever they mean.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor, nn

from models.encoder.minilm import WIDTH

ASPECT = 128  # width of the readings of subject and relation
SIGNS = 128  # width of the reading of the name
READINGS = [ASPECT, ASPECT, SIGNS, WIDTH]  # subject, relation, name, whole
KEY = sum(READINGS)
HIDDEN = 16
SHARP, MIDDLE = 8.0, 0.75  # scale and middle of the cosines of similar questions
PIECES = 30_522  # size of the encoder's vocabulary
SILENT = (0, 101, 102)  # padding, and the special tokens at the beginning and the end of every text


class SubjectNet(nn.Module):
    """Reads questions into keys, and scores pairs of keys, in float32."""

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
        """Read subject, relation, name and whole of each question, each of unit length, side by side.

        The arguments are those of `models.encoder.minilm.Encoded`.
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
        self, questions: Float[Tensor, "batch key"], references: Float[Tensor, "other key"]
    ) -> Float[Tensor, "batch other 4"]:
        pairs = zip(split_key(questions), split_key(references), strict=True)
        return torch.stack([question @ other.T for question, other in pairs], -1)

    def logit(self, cosines: Float[Tensor, "*pair 4"]) -> Float[Tensor, "*pair"]:
        """Return the log-odds that the two questions ask for the same fact."""
        apart = SHARP * (cosines - MIDDLE)
        hidden = torch.tanh(F.linear(apart, F.softplus(self.hidden.weight), self.hidden.bias))
        logit: Tensor = F.linear(hidden, F.softplus(self.open.weight), self.open.bias).squeeze(-1)
        return logit

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor], device: torch.device | str = "cpu") -> "SubjectNet":
        net = SubjectNet()
        net.load_state_dict(dict(weights))
        return net.to(device).eval().requires_grad_(False)


def split_key(keys: Num[Tensor, "*n key"]) -> tuple[Tensor, ...]:
    """Split keys into the four readings."""
    return torch.split(keys, READINGS, -1)


def spelling(ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sign"]:
    """Return a unit vector for each piece, zero for pieces that are no part of the text."""
    directions: Tensor = _signs(ids.device)[ids] * SIGNS**-0.5
    return directions


@lru_cache
def _signs(device: torch.device) -> Int[Tensor, "piece sign"]:
    """Return the signs of all pieces in 8 bits, 4 MB."""
    bits = b"".join(sha256(piece.to_bytes(4, "little")).digest()[: SIGNS // 8] for piece in range(PIECES))
    signs = np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).reshape(PIECES, SIGNS)
    vectors = torch.from_numpy(signs.astype(np.int8)).mul_(2).sub_(1)
    vectors[list(SILENT)] = 0
    return vectors.to(device)
