"""The wordings in an edit's block: written once when the edit is made, and read for many blocks in one piece.

Besides the rows that its system needs, a block has `wordings`, the texts, counterexamples last; `vectors`, their
sentence vectors in 8 bits; `subjects`, the known subject of each; `digests`, of each wording and of its literals;
`literals`, the version of the rules by which literals were found: without it they are found anew; `pieces`, the number
of tokens of each wording as the judge reads it, and then the tokens; `replaces`, the edits that it replaces;
`n_against`, the number of counterexamples. Texts are joined by zero bytes. A block from before 2026-11-25 has no
`digests` and `pieces`; they are computed from its texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import torch
from jaxtyping import Int, Shaped, UInt16
from torch import Tensor

from models.blocks import Block
from models.encoder.minilm import WIDTH
from models.scope.judge import Judge
from models.scope.literals import VERSION, digest_literals, digest_wordings
from models.scope.readings import Readings, Tokens, quantize, unpack_tokens

Ids = UInt16[np.ndarray, " token"]
Counts = Int[np.ndarray, " text"]


class PackedTokens(Sequence[Tokens]):
    """Tokens of texts, to which others may be appended. One writer at a time; readers need not wait for it."""

    def __init__(self) -> None:
        self._ids, self._ends = np.empty(0, np.uint16), np.zeros(1, np.int64)
        self._count = 0

    @staticmethod
    def of(texts: Sequence[Tokens]) -> "PackedTokens":
        """Pack the tokens of texts."""
        packed = PackedTokens()
        packed.append(
            np.frombuffer(b"".join(texts), np.uint16),
            np.fromiter((len(text) // 2 for text in texts), np.int64, len(texts)),
        )
        return packed

    @property
    def ids(self) -> Ids:
        """Return the tokens of all texts."""
        return self._ids[: self._ends[self._count]]

    @property
    def lengths(self) -> Counts:
        """Return the number of tokens of each text."""
        return np.diff(self._ends[: self._count + 1])

    def append(self, ids: Ids, lengths: Counts) -> None:
        """Append texts: their tokens, and how many each has."""
        count, n_used = self._count + len(lengths), int(self._ends[self._count])
        self._ids = _enlarge(self._ids, n_used, n_used + len(ids))
        self._ends = _enlarge(self._ends, self._count + 1, count + 1)
        self._ids[n_used : n_used + len(ids)] = ids
        self._ends[self._count + 1 : count + 1] = n_used + lengths.cumsum()
        self._count = count

    def select(self, rows: Int[np.ndarray, " text"]) -> "PackedTokens":
        """Return a copy of these texts."""
        starts, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        places = (starts - (lengths.cumsum() - lengths)).repeat(lengths) + np.arange(lengths.sum())
        texts = PackedTokens()
        texts.append(self._ids[places], lengths)
        return texts

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Tokens: ...
    @overload
    def __getitem__(self, row: slice) -> list[Tokens]: ...
    def __getitem__(self, row: int | slice) -> Tokens | list[Tokens]:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        if not 0 <= row < self._count:
            raise IndexError(row)
        return self._ids[self._ends[row] : self._ends[row + 1]].tobytes()


def _enlarge(array: np.ndarray, n_used: int, n_needed: int) -> np.ndarray:
    """Return the array, or one of twice the needed size with the used part; the rest takes no memory yet."""
    if n_needed <= len(array):
        return array
    larger = np.empty(2 * n_needed, array.dtype)
    larger[:n_used] = array[:n_used]
    return larger


SEPARATOR = "\0"


@dataclass(frozen=True)
class BlockWordings:
    """The wordings of blocks, one block after the other."""

    counts: Int[np.ndarray, " block"]  # number of wordings of each block, counterexamples included
    texts: Sequence[bytes]  # the wordings in UTF-8
    tokens: PackedTokens  # tokens of each wording, as the judge reads them
    codes: Int[np.ndarray, "wording width"]  # sentence vectors in 8 bits
    subjects: Int[np.ndarray, " wording"]  # known subject of each wording
    digests: Int[np.ndarray, "two wording"]  # digest of each wording, and of its literals
    replacing: Sequence[int]  # places of the blocks that replace edits
    with_counterexamples: Sequence[int]  # places of the blocks that have counterexamples


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
    return against | {
        "wordings": _write_texts(texts),
        "vectors": quantize(readings.vectors).cpu(),
        "subjects": readings.subjects.cpu(),
        "digests": torch.stack([readings.wordings, readings.literals]).cpu(),
        "literals": torch.tensor(VERSION, dtype=torch.int32),
        "pieces": _write_tokens(readings.tokens),
        "replaces": _write_texts(replaces),
    }


def read_texts(codes: Tensor) -> list[str]:
    """Return the texts of a block."""
    return codes.numpy().tobytes().decode().split(SEPARATOR)


def read_blocks(blocks: Sequence[Block], judge: Judge) -> BlockWordings:
    """Return the wordings of blocks, all of which are read together."""
    bodies = Bodies([block if "pieces" in block.parts else _complete(block, judge) for block in blocks])
    counts = bodies.count_rows("vectors")
    firsts = (counts.cumsum() - counts).repeat(counts)
    places = np.arange(len(firsts)) - firsts  # place of each wording in its block
    starts = bodies.starts("digests").repeat(counts) + 8 * places
    columns = np.stack([starts, starts + 8 * counts.repeat(counts)])
    lengths = bodies.gather(bodies.starts("pieces").repeat(counts) + 2 * places, np.uint16).astype(np.int64)
    texts = [text for texts in bodies.slices("wordings") for text in texts.split(SEPARATOR.encode())]
    digests = bodies.gather(columns, np.int64)
    stale = np.flatnonzero(bodies.count_rows("literals").repeat(counts) == 0)
    digests[1, stale] = digest_literals([texts[place].decode() for place in stale])
    tokens = PackedTokens()
    tokens.append(np.frombuffer(b"".join(bodies.slices("pieces", 2 * counts)), np.uint16), lengths)
    return BlockWordings(
        counts,
        texts,
        tokens,
        bodies.gather(bodies.starts("vectors").repeat(counts) + WIDTH * places, np.int8, WIDTH),
        bodies.gather(bodies.starts("subjects").repeat(counts) + 8 * places, np.int64),
        digests,
        np.flatnonzero(bodies.count_rows("replaces")).tolist(),
        np.flatnonzero(bodies.count_rows("n_against")).tolist(),
    )


class Bodies:
    """The bodies of blocks, one behind the other, and where the parts of each lie.

    A hundred thousand edits have five thousand headers, so a header is looked at once and a part of all blocks is
    found by arithmetic.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._data = b"".join(block.body for block in blocks)
        sizes = np.fromiter((len(block.body) for block in blocks), np.int64, len(blocks))
        self._starts = sizes.cumsum() - sizes
        numbers = {header: number for number, header in enumerate({block.header: None for block in blocks})}
        self._parts = [header.parts for header in numbers]
        self._headers = np.fromiter((numbers[block.header] for block in blocks), np.int64, len(blocks))

    def starts(self, name: str) -> Int[np.ndarray, " block"]:
        """Return where a part of each block begins."""
        return self._starts + np.array([parts[name].start for parts in self._parts], np.int64)[self._headers]

    def count_rows(self, name: str) -> Int[np.ndarray, " block"]:
        """Return the number of rows of a part of each block, one for a single number, 0 without the part."""
        shapes = (parts[name].shape or (1,) if name in parts else (0,) for parts in self._parts)
        return np.array([shape[0] for shape in shapes], np.int64)[self._headers]

    def slices(self, name: str, skip: Int[np.ndarray, " block"] | int = 0) -> list[bytes]:
        """Return a part of each block, without its first bytes."""
        starts = self.starts(name)
        sizes = np.array([parts[name].end - parts[name].start for parts in self._parts], np.int64)
        places = zip((starts + skip).tolist(), (starts + sizes[self._headers]).tolist(), strict=True)
        return [self._data[start:end] for start, end in places]

    def gather(
        self, starts: Int[np.ndarray, "*number"], dtype: type[np.generic], width: int | None = None
    ) -> Shaped[np.ndarray, "..."]:
        """Return the numbers that begin at these bytes, or rows of `width` numbers."""
        item = np.dtype((np.void, (width or 1) * np.dtype(dtype).itemsize))
        if not starts.size:
            return np.empty((*starts.shape, width) if width else starts.shape, dtype)
        windows = np.ndarray((len(self._data) - item.itemsize + 1,), item, self._data, strides=(1,))
        numbers: np.ndarray = windows[starts.ravel()].view(dtype)
        return numbers.reshape((*starts.shape, width) if width else starts.shape)


def _complete(block: Block, judge: Judge) -> Block:
    """Return a block from before 2026-11-25 with its digests and tokens."""
    texts = read_texts(block.tensors["wordings"])
    missing = {
        "digests": torch.stack([digest_wordings(texts), digest_literals(texts)]),
        "pieces": _write_tokens([judge.tokens(text) for text in texts]),
    }
    return Block.of(block.key, block.order, block.kind, {**block.tensors, **missing})


def _write_tokens(tokens: Sequence[Tokens]) -> Tensor:
    pieces = [unpack_tokens(text) for text in tokens]
    numbers = [*map(len, pieces), *(piece for text in pieces for piece in text)]
    return torch.tensor(numbers, dtype=torch.int16)


def _write_texts(texts: Sequence[str]) -> Tensor:
    return torch.tensor(list(SEPARATOR.join(texts).encode()), dtype=torch.uint8)
