"""Blocks of rows, and images of a version: what all memories are made of.

A block is the smallest thing an edit writes: the gated slots one edit owns, or one value row that surgery moved.
An image is immutable; the fold makes the next one from a delta, and versions share equal blocks. Blocks live on the
CPU; a view, compiled from an image for reading, lives on the device of the system that reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from models.versioned_blocks import Prefix, VersionedBlocks

if TYPE_CHECKING:  # torch takes seconds to import, and who passes rows on does not look into them
    from torch import Tensor


EDIT_PREFIX = "edit/"  # beginning of the key of a block that one edit owns
DTYPES = {  # name in safetensors -> name in torch, and bytes of one number
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "I16": ("int16", 2), "I32": ("int32", 4),
    "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2), "F32": ("float32", 4), "F64": ("float64", 8),
}  # fmt: skip
_HEADERS: WeakValueDictionary[bytes, Header] = WeakValueDictionary()


class BlockError(ValueError):
    """Bytes that are not a block, or not the block their digest names."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Block:
    """Rows that live and die together, kept as bytes: a tensor is made when it is read."""

    # Name of the block, unique within its memory at one version, e.g. `edit/7f3a` or `value/11/42`.
    key: str
    # Place in the canonical order of the memory, which is the ledger's. The digest leaves it out, so that an image
    # does not remember how many commits came before it.
    order: int
    # First part of the safetensors bytes; blocks of the same shapes share it
    header: Header = field(repr=False, compare=False)
    body: bytes = field(repr=False)  # second part of the safetensors bytes
    sha256: bytes = field(repr=False)  # digest of header and body

    @staticmethod
    def of(key: str, order: int, kind: str, tensors: Mapping[str, Tensor]) -> Block:
        """Make a block from tensors.

        Args:
            order: Place in the ledger's order.
            kind: Name by which the memory knows how to read the tensors, e.g. `gated` or `value`.
        """
        from safetensors.numpy import save

        arrays = {name: tensors[name].contiguous().numpy() for name in sorted(tensors)}
        data = save(
            arrays, metadata={"kind": kind}
        )  # torch's writes the same bytes, and takes three times as long
        return Block(key, order, *_split(data), hashlib.sha256(data).digest())

    @property
    def encoded(self) -> bytes:
        """Return the block as safetensors bytes; equal content gives equal bytes."""
        return self.header.data + self.body

    @property
    def digest(self) -> str:
        """Return the digest as commits name it."""
        return "sha256:" + self.sha256.hex()

    @property
    def edit(self) -> str:
        """Return the id of the edit that owns the block (`block_key`)."""
        return self.key.removeprefix(EDIT_PREFIX)

    @property
    def kind(self) -> str:
        """Return the name by which the memory knows how to read the tensors."""
        return self.header.kind

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """Return the tensors by name; each is a copy that is made when it is looked up."""
        return Tensors(self.body, self.header.parts)

    @property
    def parts(self) -> Mapping[str, Part]:
        """Return the place of each tensor in the body; blocks with one header share it."""
        return self.header.parts

    @property
    def rows(self) -> Mapping[str, int]:
        """Return the number of rows of each tensor; a single number counts as one row."""
        return {name: part.shape[0] if part.shape else 1 for name, part in self.parts.items()}

    @staticmethod
    def decode(data: bytes, *, key: str, order: int, digest: str) -> Block:
        """Read the block that `encoded` wrote. BlockError: the bytes do not match the digest, or are no block."""
        actual = hashlib.sha256(data).digest()
        if "sha256:" + actual.hex() != digest:
            raise BlockError(f"rows {key!r}: expected {digest}, found sha256:{actual.hex()}")
        try:
            block = Block(key, order, *_split(data), actual)
            if block.header.size != len(block.body):
                raise ValueError(f"its header says {block.header.size} bytes, there are {len(block.body)}")
        except Exception as cause:  # bytes that `encoded` did not write can fail in any way
            raise BlockError(f"rows {key!r}: {digest} names bytes that are no rows ({cause})") from cause
        return block


class Part(NamedTuple):
    """Place of one tensor in the body of a block."""

    dtype: str  # name of the dtype in torch
    shape: tuple[int, ...]  # sizes of the axes
    start: int  # first byte in the body
    end: int  # byte behind the last one


@dataclass(frozen=True, slots=True)
class Tensors(Mapping[str, "Tensor"]):
    """The tensors of one block, each made when it is looked up."""

    body: bytes
    parts: Mapping[str, Part]

    def __getitem__(self, name: str) -> Tensor:
        import torch

        part = self.parts[name]
        dtype = getattr(torch, part.dtype)
        data = bytearray(self.body[part.start : part.end])
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        return flat if len(part.shape) == 1 else flat.view(part.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Header:
    """The header of blocks of the same shapes. Each is read once, and goes with its last block."""

    data: bytes  # the bytes, with the length before them
    kind: str  # name by which the memory knows how to read the tensors
    parts: Mapping[str, Part]  # place of each tensor
    size: int  # bytes of the body


def _split(data: bytes) -> tuple[Header, bytes]:
    """Split safetensors bytes into the header, with the length before it, and the body."""
    end = 8 + int.from_bytes(data[:8], "little")
    head = data[:end]
    header = _HEADERS.get(head)
    if header is None:
        header = _HEADERS[head] = _read_header(head)
    return header, data[end:]


def _read_header(data: bytes) -> Header:
    """Read a header. ValueError, KeyError, TypeError: `Block.of` does not write such a header."""
    content = json.loads(data[8:])
    kind = content.pop("__metadata__")["kind"]
    if not isinstance(kind, str):
        raise TypeError(f"the kind of a block is a text, not {kind!r}")
    parts: dict[str, Part] = {}
    size = 0
    for name, entry in sorted(content.items(), key=lambda pair: pair[1]["data_offsets"]):
        dtype, width = DTYPES[entry["dtype"]]
        part = Part(dtype, tuple(map(int, entry["shape"])), *map(int, entry["data_offsets"]))
        if (
            part.start != size
            or part.end - part.start != width * prod(part.shape)
            or min(part.shape, default=0) < 0
        ):
            raise ValueError(
                f"{name!r} has {part.end - part.start} bytes at {part.start} and the shape {part.shape}"
            )
        parts[name], size = part, part.end
    return Header(data, kind, parts, size)


@dataclass(frozen=True)
class Delta:
    """The rows that one commit writes to one memory."""

    puts: tuple[Block, ...] = ()  # blocks to put, each in place of a block of the same key
    removes: tuple[str, ...] = ()  # keys of blocks to remove

    def __bool__(self) -> bool:
        return bool(self.puts or self.removes)


@dataclass(frozen=True)
class Image:
    """All blocks of one memory at one version, on top of a base that never changes."""

    base: str  # digest of the checkpoint that the blocks lie on
    blocks: Mapping[str, Block] = field(default_factory=dict, repr=False)  # blocks by their keys

    def apply(self, delta: Delta) -> Image:
        """Return the image with a delta written to it; one that only adds costs what it adds."""
        before = self.versioned_blocks
        after = before.changed(delta.puts, delta.removes)
        image = Image(self.base, after)
        if after.in_order.starts_with(before.in_order) and "_total" in self.__dict__:
            total = self._total.copy()
            total.update(b"".join(block.sha256 for block in after.in_order[len(before) :]))
            image.__dict__["_total"] = total
        return image

    def delta_to(self, target: Image) -> Delta:
        """Return the delta that turns this image into `target`."""
        before, after = self.versioned_blocks, target.versioned_blocks
        if after.in_order.starts_with(before.in_order):
            return Delta(tuple(after.in_order[len(before) :]))
        removes = tuple(key for key in before if key not in after)
        puts = []
        for block in after.in_order:
            old = before.get(block.key)
            if old is not block and (old is None or (old.order, old.sha256) != (block.order, block.sha256)):
                puts.append(block)
        return Delta(tuple(puts), removes)

    @property
    def ordered_blocks(self) -> Prefix[Block]:
        """Return the blocks in the ledger's order."""
        return self.versioned_blocks.in_order

    @cached_property
    def versioned_blocks(self) -> VersionedBlocks:
        """Return the blocks as versions share them."""
        if isinstance(self.blocks, VersionedBlocks):
            return self.blocks
        return VersionedBlocks.of(self.blocks.values())

    @cached_property
    def _total(self) -> Any:
        """Return the running SHA-256 over base and blocks, which a version with more blocks continues."""
        total = hashlib.sha256(self.base.encode())
        total.update(b"".join(block.sha256 for block in self.ordered_blocks))
        return total

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of base and blocks: two images have the same one if all their bits are the same."""
        digest: str = self._total.hexdigest()
        return "sha256:" + digest


def checksum(base: str, digests: Iterable[str]) -> str:
    """Return the SHA-256 over a base and the digests of its blocks in the ledger's order."""
    total = hashlib.sha256(base.encode())
    total.update(bytes.fromhex("".join(digest.removeprefix("sha256:") for digest in digests)))
    return "sha256:" + total.hexdigest()


def block_key(edit: str) -> str:
    """Return the key of the block that an edit owns."""
    return EDIT_PREFIX + edit
