"""What every editable memory is made of: named blocks of rows, and an image of them at one version.

A block is the smallest thing an edit writes: the gated slots one edit owns, or one value row that surgery moved.
An image is immutable; the fold makes the next one from a delta, and equal blocks are shared between versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch takes seconds to import, and who passes rows on does not look into them
    from torch import Tensor


class BlockError(ValueError):
    """Bytes that are not a block, or not the block their digest names."""


@dataclass(frozen=True)
class Block:
    """Rows that live and die together.

    key: unique within its memory at one version, e.g. `edit/7f3a` or `value/11/42`.
    order: where it stands in the canonical order of the memory (the ledger's order). Not part of the digest, so
        that an image does not remember how many commits came before it.
    kind: which reader of the memory understands the tensors, e.g. `gated`, `value`.
    tensors: contiguous CPU tensors.
    """

    key: str
    order: int
    kind: str
    tensors: Mapping[str, Tensor] = field(repr=False)

    @cached_property
    def encoded(self) -> bytes:
        """The block as safetensors bytes; equal content gives equal bytes."""
        from safetensors.torch import save

        ordered = {name: self.tensors[name].contiguous() for name in sorted(self.tensors)}
        return save(ordered, metadata={"kind": self.kind})

    @cached_property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.encoded).hexdigest()

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """How many each tensor has; a number is one."""
        return {name: tensor.shape[0] if tensor.dim() else 1 for name, tensor in self.tensors.items()}

    @staticmethod
    def decode(data: bytes, *, key: str, order: int, digest: str) -> Block:
        """The block that `encoded` wrote. BlockError when the bytes do not match the digest, or are no block."""
        from safetensors.torch import load

        actual = "sha256:" + hashlib.sha256(data).hexdigest()
        if actual != digest:
            raise BlockError(f"rows {key!r}: expected {digest}, found {actual}")
        try:
            block = Block(key, order, _kind(_header(data)), load(data))
        except Exception as cause:  # of bytes that were never written as a block, anything
            raise BlockError(f"rows {key!r}: {digest} names bytes that are no rows ({cause})") from cause
        block.__dict__["encoded"], block.__dict__["digest"] = data, digest
        return block


def _header(data: bytes) -> bytes:
    """What safetensors begins with; its own reader keeps it to itself."""
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


@lru_cache(maxsize=64)  # blocks of the same shapes have the same header
def _kind(header: bytes) -> str:
    kind = json.loads(header)["__metadata__"]["kind"]
    if not isinstance(kind, str):
        raise TypeError(f"the kind of a block is a text, not {kind!r}")
    return kind


@dataclass(frozen=True)
class Delta:
    """What one commit writes to one memory: blocks to put (replacing a block of the same key), keys to remove."""

    puts: tuple[Block, ...] = ()
    removes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.puts or self.removes)


@dataclass(frozen=True)
class Image:
    """All blocks of one memory at one version, on top of a base that never changes.

    base: digest of the checkpoint the blocks lie on.
    """

    base: str
    blocks: Mapping[str, Block] = field(default_factory=dict, repr=False)

    def apply(self, delta: Delta) -> Image:
        blocks = dict(self.blocks)
        for key in delta.removes:
            del blocks[key]
        for block in delta.puts:
            blocks[block.key] = block
        return Image(self.base, blocks)

    def delta_to(self, target: Image) -> Delta:
        """The delta that turns this image into `target`."""
        removes = tuple(key for key in self.blocks if key not in target.blocks)
        old = self.blocks
        puts = tuple(
            b for key, b in target.blocks.items() if old.get(key) is not b and not _same(old.get(key), b)
        )
        return Delta(puts, removes)

    @cached_property
    def ordered(self) -> Sequence[Block]:
        return sorted(self.blocks.values(), key=lambda block: (block.order, block.key))

    @cached_property
    def checksum(self) -> str:
        """SHA-256 over the base and the blocks' digests in canonical order: equal iff every row is, bit for bit."""
        return checksum(self.base, (block.digest for block in self.ordered))


def checksum(base: str, digests: Iterable[str]) -> str:
    total = hashlib.sha256(base.encode())
    total.update(bytes.fromhex("".join(digest.removeprefix("sha256:") for digest in digests)))
    return "sha256:" + total.hexdigest()


def _same(old: Block | None, new: Block) -> bool:
    return old is not None and old.order == new.order and old.digest == new.digest
