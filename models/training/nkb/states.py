"""Encoder states of every training text, computed once: the encoder is frozen, so they never change."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.encoder.bert import unpack
from models.encoder.minilm import WIDTH, MiniLM
from models.training.kit.progress import add_seconds
from models.training.nkb.subject_net import SubjectNet

BATCH = 64  # texts in one pass, everywhere in training


@dataclass(frozen=True)
class States:
    """Packed half-precision states, and the ids of their tokens; text i lies at offsets[i]:offsets[i + 1]."""

    packed: np.ndarray
    offsets: Int[Tensor, " edges"]
    ids: Int[Tensor, " tokens"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def batch(
        self, rows: Sequence[int] | Tensor
    ) -> tuple[Float[Tensor, "batch token width"], Bool[Tensor, "batch token"]]:
        flat, mask = self._places(rows)
        return unpack(torch.from_numpy(self.packed[flat.numpy()]).float(), mask), mask

    def pieces(self, rows: Sequence[int] | Tensor) -> Int[Tensor, "batch token"]:
        """Return the ids of some texts, 0 at padding."""
        flat, mask = self._places(rows)
        return self.ids.new_zeros(mask.shape).masked_scatter_(mask, self.ids[flat])

    def key(self, net: SubjectNet, rows: Sequence[int] | Tensor) -> Float[Tensor, "batch key"]:
        """Read some texts by the net of the subjects."""
        states, mask = self.batch(rows)
        return net.key(states, self.pieces(rows), mask)

    def _places(self, rows: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(rows)
        starts, ends = self.offsets[index], self.offsets[index + 1]
        lengths = ends - starts
        places = torch.arange(int(lengths.max()))
        mask = places < lengths[:, None]
        return (starts[:, None] + places)[mask], mask


def load_or_encode(folder: Path, texts: Sequence[str], encoder: MiniLM, say: Callable[[str], None]) -> States:
    """Load the states of the texts from the folder, or encode the texts and write them there.

    Offsets are written last: without them the states are incomplete.

    Raises:
        ValueError: The states are of other texts.
    """
    packed, offsets, digest_file = folder / "states.npy", folder / "offsets.npy", folder / "texts.sha256"
    tokens = [encoder.tokens(text)[0] for text in texts]
    edges = np.concatenate([[0], np.cumsum([len(row) for row in tokens])])
    if not offsets.exists():
        _encode(packed, texts, edges, encoder, say)
        digest_file.write_text(digest(texts) + "\n")
        _save_whole(offsets, edges)
    same = digest_file.exists() and digest_file.read_text().strip() == digest(texts)
    if not (same and np.array_equal(np.load(offsets), edges)):
        raise ValueError(f"{folder} holds states of other texts: delete it and run again")
    ids = torch.tensor([token for row in tokens for token in row])
    return States(np.load(packed), torch.from_numpy(edges), ids)


def digest(texts: Sequence[str]) -> str:
    """Compute the SHA-256 of the texts in their order, as a JSON list, which is unambiguous."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _save_whole(path: Path, array: np.ndarray) -> None:
    """Write the file atomically."""
    partial = path.with_suffix(".partial.npy")
    np.save(partial, array)
    partial.replace(path)


def _encode(
    path: Path, texts: Sequence[str], edges: np.ndarray, encoder: MiniLM, say: Callable[[str], None]
) -> None:
    start_s = time.monotonic()
    out = np.lib.format.open_memmap(path, "w+", np.float16, (int(edges[-1]), WIDTH))
    order = sorted(range(len(texts)), key=lambda i: int(edges[i + 1] - edges[i]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        encoded = encoder.encode([texts[i] for i in rows])
        for row, states, mask in zip(rows, encoded.states, encoded.mask, strict=True):
            out[edges[row] : edges[row + 1]] = states[mask].half().numpy()
        if start // BATCH % 200 == 0:
            say(f"encoded {start} of {len(order)} texts")
    out.flush()
    add_seconds(path.parent, "states", time.monotonic() - start_s)
