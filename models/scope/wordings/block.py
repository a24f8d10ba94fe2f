"""The wordings in an edit's block: written once when the edit is made, and read for many blocks in one piece.

Besides the rows that its system needs, a block has `wordings`, the texts, counterexamples last; `vectors`, their
sentence vectors in 8 bits; `subjects`, the known subject of each; `digests`, of each wording and of its literals;
`pieces`, the number of tokens of each wording as the judge reads it, and then the tokens; `replaces`, the edits that
it replaces; `n_against`, the number of counterexamples. Texts are joined by zero bytes. A block from before
2026-11-25 has no `digests` and `pieces`; they are computed from its texts.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from models.encoder.minilm import WIDTH
from models.memory import Block
from models.scope.judge import Judge
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import Readings, Tokens, quantize, unpack_tokens

SEPARATOR = "\0"


@dataclass(frozen=True)
class BlockWordings:
    """The wordings of blocks, one block after the other.

    Attributes:
        counts: Number of wordings of each block, counterexamples included.
        texts: The wordings in UTF-8.
        tokens: Tokens of each wording, as the judge reads them.
        codes: Sentence vectors in 8 bits.
        subjects: Known subject of each wording.
        digests: Digest of each wording, and of its literals.
    """

    counts: Int[np.ndarray, " block"]
    texts: Sequence[bytes]
    tokens: Sequence[Tokens]
    codes: Int[np.ndarray, "wording width"]
    subjects: Int[np.ndarray, " wording"]
    digests: Int[np.ndarray, "two wording"]


def write_block(
    texts: Sequence[str], readings: Readings, replaces: Sequence[str] = (), n_against: int = 0
) -> dict[str, Tensor]:
    """Return the parts of an edit's block that the scope reads, on the CPU.

    Args:
        texts: The wordings; counterexamples come last.
        readings: Readings of the texts.
        replaces: Ids of the edits that the new one replaces.
        n_against: Number of counterexamples.
    """
    against = {"n_against": torch.tensor(n_against, dtype=torch.int32)} if n_against else {}
    pieces = [unpack_tokens(tokens) for tokens in readings.tokens]
    numbers = [*map(len, pieces), *(piece for text in pieces for piece in text)]
    return against | {
        "wordings": _write_texts(texts),
        "vectors": quantize(readings.vectors).cpu(),
        "subjects": readings.subjects.cpu(),
        "digests": torch.stack([readings.wordings, readings.literals]).cpu(),
        "pieces": torch.tensor(numbers, dtype=torch.int16),
        "replaces": _write_texts(replaces),
    }


def read_texts(codes: Tensor) -> list[str]:
    """Return the texts of a block."""
    return codes.numpy().tobytes().decode().split(SEPARATOR)


def read_blocks(blocks: Sequence[Block], judge: Judge) -> BlockWordings:
    """Return the wordings of blocks; blocks of the same shapes are read together."""
    counts = np.array([block.parts["vectors"].shape[0] for block in blocks], np.int64)
    starts = counts.cumsum() - counts
    total = int(counts.sum())
    codes, subjects = np.empty((total, WIDTH), np.int8), np.empty(total, np.int64)
    digests = np.empty((2, total), np.int64)
    texts: list[bytes] = [b""] * total
    tokens: list[Tokens] = [b""] * total
    places_by_header: dict[bytes, list[int]] = defaultdict(list)
    for place, block in enumerate(blocks):
        places_by_header[block.header].append(place)
    for places in places_by_header.values():
        alike = Alike([blocks[place] for place in places])
        rows = (starts[places][:, None] + np.arange(counts[places[0]])).ravel()
        codes[rows] = alike.column("vectors", np.int8).reshape(-1, WIDTH)
        subjects[rows] = alike.column("subjects", np.int64).ravel()
        for row, text in zip(rows.tolist(), alike.texts(), strict=True):
            texts[row] = text
        if "pieces" in alike.parts:
            digests[:, rows] = (
                alike.column("digests", np.int64).reshape(len(places), 2, -1).swapaxes(0, 1).reshape(2, -1)
            )
            fresh = list(alike.tokens(int(counts[places[0]])))
        else:
            plain = [texts[row].decode() for row in rows.tolist()]
            digests[0, rows], digests[1, rows] = (
                digest_wordings(plain).numpy(),
                digest_literals(plain).numpy(),
            )
            fresh = list(map(judge.tokens, plain))
        for row, packed in zip(rows.tolist(), fresh, strict=True):
            tokens[row] = packed
    return BlockWordings(counts, texts, tokens, codes, subjects, digests)


class Alike:
    """Blocks with one header, whose bodies are rows of one matrix of bytes."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.parts = blocks[0].parts
        self._bodies = np.frombuffer(b"".join(block.body for block in blocks), np.uint8).reshape(
            len(blocks), -1
        )

    def column(self, name: str, dtype: type[np.generic]) -> Integer[np.ndarray, "block number"]:
        """Return one tensor of each block, flat."""
        part = self.parts[name]
        return np.ascontiguousarray(self._bodies[:, part.start : part.end]).view(dtype)

    def texts(self) -> Iterator[bytes]:
        """Yield the wordings of all blocks in turn."""
        for row in self.column("wordings", np.uint8):
            yield from row.tobytes().split(SEPARATOR.encode())

    def tokens(self, count: int) -> Iterator[Tokens]:
        """Yield the tokens of the wordings of all blocks in turn, `count` wordings each."""
        for row in self.column("pieces", np.uint16):
            ends = list(accumulate(row[:count].tolist(), initial=count))
            yield from (row[start:end].tobytes() for start, end in pairwise(ends))


def _write_texts(texts: Sequence[str]) -> Tensor:
    return torch.tensor(list(SEPARATOR.join(texts).encode()), dtype=torch.uint8)
