"""Encoder states of every training text, computed once: the encoder is frozen, so they never change."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Float16, Int
from torch import Tensor

from models.encoder.bert import unpack
from models.encoder.minilm import WIDTH, MiniLM
from models.training.kit.command import Say
from models.training.kit.progress import load_or_compute

BATCH = 64  # texts in one pass, everywhere in training
FILE = "states.safetensors"


@dataclass(frozen=True)
class States:
    """Packed half-precision states; text i lies at offsets[i]:offsets[i + 1]."""

    packed: Float16[Tensor, "tokens width"]
    offsets: Int[Tensor, " edges"]

    def batch(
        self, rows: Sequence[int]
    ) -> tuple[Float[Tensor, "batch token width"], Bool[Tensor, "batch token"]]:
        """Return the states of some texts, and where there is a token."""
        index = torch.as_tensor(rows)
        starts, lengths = self.offsets[index], self.offsets.diff()[index]
        places = torch.arange(int(lengths.max()))
        mask = places < lengths[:, None]
        return unpack(self.packed[(starts[:, None] + places)[mask]].float(), mask), mask


def load_or_encode(folder: Path, texts: Sequence[str], encoder: MiniLM, say: Say) -> States:
    """Load the states of the texts from the folder, or encode the texts and write them there."""
    mark = digest(texts)
    tensors = load_or_compute(folder / FILE, mark, "states", lambda: _encode(texts, encoder, say))
    return States(tensors["packed"], tensors["offsets"])


def digest(texts: Sequence[str]) -> str:
    """Compute the SHA-256 of the texts in their order, as a JSON list, which is unambiguous."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _encode(texts: Sequence[str], encoder: MiniLM, say: Say) -> dict[str, Tensor]:
    lengths = torch.tensor([0, *(len(encoder.tokens(text)[0]) for text in texts)])
    offsets, order = lengths.cumsum(0), lengths[1:].argsort(stable=True).tolist()
    packed = torch.empty(int(offsets[-1]), WIDTH, dtype=torch.float16)
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        encoded = encoder.encode([texts[row] for row in rows])
        for row, states, mask in zip(rows, encoded.states, encoded.mask, strict=True):
            packed[offsets[row] : offsets[row + 1]] = states[mask].half()
        if start // BATCH % 200 == 0:
            say(f"encoded {start} of {len(order)} texts")
    return {"packed": packed, "offsets": offsets}
