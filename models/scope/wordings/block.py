"""The wordings in an edit's block: written once when the edit is made, and read for many blocks in one piece.

Besides the rows that its system needs, a block has `wordings`, the texts, counterexamples last; `vectors`, their
sentence vectors in 8 bits; `subjects`, the known subject of each; `digests`, of each wording and of its literals;
`literals`, the version of the rules by which literals and tokens were found; `pieces`, the number of tokens of each
wording as the judge reads it, and then the tokens; `replaces`, the edits that it replaces; `n_against`, the number of
counterexamples. Texts are joined by zero bytes. Digests and tokens of another version, or of a block from before
2026-11-25, which has none, are computed from its texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from models.blocks import Block
from models.encoder.minilm import WIDTH
from models.scope.judge import Judge
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import Readings, Tokens, quantize, unpack_tokens
from models.scope.values import VERSION
from models.scope.wordings.packed_tokens import PackedTokens

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
    bodies = Bodies([block if _is_current(block) else _read_again(block, judge) for block in blocks])
    counts = bodies.count_rows("vectors")
    firsts = (counts.cumsum() - counts).repeat(counts)
    places = np.arange(len(firsts)) - firsts  # place of each wording in its block
    starts = bodies.starts("digests").repeat(counts) + 8 * places
    columns = np.stack([starts, starts + 8 * counts.repeat(counts)])
    lengths = bodies.gather(bodies.starts("pieces").repeat(counts) + 2 * places, np.uint16).astype(np.int64)
    texts = [text for texts in bodies.slices("wordings") for text in texts.split(SEPARATOR.encode())]
    digests = bodies.gather(columns, np.int64)
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


def _is_current(block: Block) -> bool:
    """Return whether a block's wordings were read by today's rules."""
    part = block.parts.get("literals")
    return part is not None and int.from_bytes(block.body[part.start : part.end], "little") == VERSION


def _read_again(block: Block, judge: Judge) -> Block:
    """Return a block of other rules with digests and tokens of today's, under which its key stays."""
    texts = read_texts(block.tensors["wordings"])
    fresh = {
        "literals": torch.tensor(VERSION, dtype=torch.int32),
        "digests": torch.stack([digest_wordings(texts), digest_literals(texts)]),
        "pieces": _write_tokens([judge.tokens(text) for text in texts]),
    }
    return Block.of(block.key, block.order, block.kind, {**block.tensors, **fresh})


def _write_tokens(tokens: Sequence[Tokens]) -> Tensor:
    pieces = [unpack_tokens(text) for text in tokens]
    numbers = [*map(len, pieces), *(piece for text in pieces for piece in text)]
    return torch.tensor(numbers, dtype=torch.int16)


def _write_texts(texts: Sequence[str]) -> Tensor:
    return torch.tensor(list(SEPARATOR.join(texts).encode()), dtype=torch.uint8)
