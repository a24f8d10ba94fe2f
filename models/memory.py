"""The contract of an editable memory, and what all of them are made of: blocks of rows, and images of a version.

A block is the smallest thing an edit writes: the gated slots one edit owns, or one value row that surgery moved.
An image is immutable; the fold makes the next one from a delta, and versions share equal blocks. Blocks live on the
CPU; a view, compiled from an image for reading, lives on the device of the system that reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    get_args,
    runtime_checkable,
)

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:  # torch takes seconds to import, and who passes rows on does not look into them
    from torch import Tensor


class BlockError(ValueError):
    """Bytes that are not a block, or not the block their digest names."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Block:
    """Rows that live and die together, kept as bytes: a tensor is made when it is read.

    key: unique within its memory at one version, e.g. `edit/7f3a` or `value/11/42`.
    order: where it stands in the canonical order of the memory (the ledger's order). Not part of the digest, so
        that an image does not remember how many commits came before it.
    header, body: of the block as safetensors bytes; blocks of the same shapes share a header. sha256: of both.
    """

    key: str
    order: int
    header: bytes = field(repr=False)
    body: bytes = field(repr=False)
    sha256: bytes = field(repr=False)

    @staticmethod
    def of(key: str, order: int, kind: str, tensors: Mapping[str, Tensor]) -> Block:
        """kind: which reader of the memory understands the tensors, e.g. `gated`, `value`. tensors: on the CPU."""
        from safetensors.torch import save

        sorted_tensors = {name: tensors[name].contiguous() for name in sorted(tensors)}
        data = save(sorted_tensors, metadata={"kind": kind})
        return Block(key, order, *_split(data), hashlib.sha256(data).digest())

    @property
    def encoded(self) -> bytes:
        """The block as safetensors bytes; equal content gives equal bytes."""
        return self.header + self.body

    @property
    def digest(self) -> str:
        return "sha256:" + self.sha256.hex()

    @property
    def kind(self) -> str:
        return _layout(self.header).kind

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """By name; each is a copy, made when it is looked up."""
        return Tensors(self.body, _layout(self.header).parts)

    @property
    def rows(self) -> Mapping[str, int]:
        """How many each tensor has; a number is one."""
        parts = _layout(self.header).parts
        return {name: part.shape[0] if part.shape else 1 for name, part in parts.items()}

    @staticmethod
    def decode(data: bytes, *, key: str, order: int, digest: str) -> Block:
        """The block that `encoded` wrote. BlockError when the bytes do not match the digest, or are no block."""
        actual = hashlib.sha256(data).digest()
        if "sha256:" + actual.hex() != digest:
            raise BlockError(f"rows {key!r}: expected {digest}, found sha256:{actual.hex()}")
        try:
            block = Block(key, order, *_split(data), actual)
            if _layout(block.header).size != len(block.body):
                raise ValueError(
                    f"its header says {_layout(block.header).size} bytes, there are {len(block.body)}"
                )
        except Exception as cause:  # of bytes that were never written as a block, anything
            raise BlockError(f"rows {key!r}: {digest} names bytes that are no rows ({cause})") from cause
        return block


class Part(NamedTuple):
    """Where one tensor lies in the body of a block. dtype: its name in torch."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tensors(Mapping[str, "Tensor"]):
    """Of one block."""

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


class Layout(NamedTuple):
    """size: of the body."""

    kind: str
    parts: Mapping[str, Part]
    size: int


DTYPES = {  # of safetensors -> of torch, and bytes of a number
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "I16": ("int16", 2), "I32": ("int32", 4),
    "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2), "F32": ("float32", 4), "F64": ("float64", 8),
}  # fmt: skip


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Header, the length before it included, and body."""
    end = 8 + int.from_bytes(data[:8], "little")
    return _intern(data[:end]), data[end:]


@lru_cache(maxsize=4_096)
def _intern(header: bytes) -> bytes:
    return header


@lru_cache(maxsize=4_096)  # blocks of the same shapes have the same header
def _layout(header: bytes) -> Layout:
    """ValueError, KeyError or TypeError when it is none that `Block.of` writes."""
    content = json.loads(header[8:])
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
    return Layout(kind, parts, size)


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
        puts = []
        for key, block in target.blocks.items():
            old = self.blocks.get(key)
            if old is not block and (old is None or (old.order, old.digest) != (block.order, block.digest)):
                puts.append(block)
        return Delta(tuple(puts), removes)

    @cached_property
    def ordered_blocks(self) -> Sequence[Block]:
        return sorted(self.blocks.values(), key=lambda block: (block.order, block.key))

    @cached_property
    def checksum(self) -> str:
        """SHA-256 over the base and the blocks' digests in canonical order: equal iff every row is, bit for bit."""
        return checksum(self.base, (block.digest for block in self.ordered_blocks))


def checksum(base: str, digests: Iterable[str]) -> str:
    total = hashlib.sha256(base.encode())
    total.update(bytes.fromhex("".join(digest.removeprefix("sha256:") for digest in digests)))
    return "sha256:" + total.hexdigest()


ChangeKind: TypeAlias = Literal["answer", "triple", "rows", "rule", "document", "sense"]
CHANGE_KINDS: frozenset[str] = frozenset(get_args(ChangeKind))

View: TypeAlias = Any
"""A memory at one version, compiled for reading. Immutable, and opaque to all but the systems that read the memory."""

Views: TypeAlias = Mapping[str, View]
"""Memory name -> its view, of every memory that one system reads, all at one version."""


@runtime_checkable
class Change(Protocol):
    """What an edit asks of one memory, resolved to plain values. A memory knows the kinds that it accepts.

    id: of the edit; it names the block (`block_key`) and stays out of the rows.
    """

    @property
    def kind(self) -> ChangeKind: ...

    @property
    def id(self) -> str: ...


@dataclass(frozen=True)
class AnswerChange:
    """This question, and its paraphrases, have this answer.

    counterexamples: questions that it is not about. replaces: ids of earlier edits about the same fact, in whose words
    this one answers, too. other_names: the question in other names of what it mentions.
    """

    kind: ClassVar[ChangeKind] = "answer"

    id: str
    question: str
    answer: str
    paraphrases: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()

    @property
    def wordings(self) -> tuple[str, ...]:
        """All that it answers to."""
        return (self.question, *self.paraphrases, *self.other_names)


class Fields(BaseModel):
    """What a curator writes to change a memory in a way that the memory alone knows; a subclass for each kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def summarize(self) -> str:
        """Return the change in one line of words, for logs and diffs."""
        return ", ".join(f"{name} {value}" for name, value in self.model_dump(exclude_unset=True).items())


@dataclass(frozen=True)
class FieldsChange:
    """A change of a kind whose fields the memory names.

    kind: one that the memory accepts. question, answer: what is asked to see whether it works; "" where there is
    nothing to ask.
    """

    id: str
    kind: ChangeKind
    fields: Fields
    question: str = ""
    answer: str = ""


class Options(BaseModel):
    """What a curator may set beside a change; a memory subclasses it. A memory with several methods has `method`.

    Options are frozen and refuse unknown names, so equal options are one entry of a cache.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @classmethod
    def methods(cls) -> tuple[str, ...]:
        """The editing methods, the default first; () where there is nothing to choose from."""
        field = cls.model_fields.get("method")
        return () if field is None else get_args(field.annotation)

    @classmethod
    def names(cls) -> frozenset[str]:
        """As they are written on the wire."""
        return frozenset(field.alias or name for name, field in cls.model_fields.items())


class EditRefused(ValueError):
    """An edit that cannot work, with a stable code (`no_active_slot`, `unreachable`, ...) and what to do."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Material:
    """What one edit contributes to the fold. Built once, from the base alone, and never changed afterwards.

    block: its `order`, the edit's place in the ledger, is assigned by the writer before the fold.
    notes: what the report says of the rows (slots touched, margin, lambda, warnings). JSON values only.
    """

    edit: str
    method: str
    block: Block
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """How full a memory is.

    slots_used: by all active edits. slots_reserved: how many there are; None where edits bring their own, which the
    service then limits. rows_per_slot: how crowded a memory is whose edits share slots. margin: by how many points the
    locality expected at so many edits exceeds what is acceptable. warnings: whole sentences for a curator.
    """

    slots_used: int
    slots_reserved: int | None
    rows_per_slot: float | None = None
    margin: float | None = None
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Memory(Protocol):
    """A named table of rows that systems read while they answer and that edits write.

    accepts: kinds of change. options: the model of what a curator may set beside a change. Thread-safe: images and
    views are immutable, and the base never changes.
    """

    @property
    def name(self) -> str: ...

    @property
    def accepts(self) -> frozenset[ChangeKind]: ...

    @property
    def options(self) -> type[Options]: ...

    @property
    def base(self) -> Image:
        """The memory with no edits."""

    def build(self, changes: Sequence[Any], options: Any) -> list[Material | EditRefused]:
        """Turn changes of the accepted kinds into rows, in order, from the base alone, so that undo is exact."""

    def fold(self, materials: Sequence[Material]) -> Image:
        """The image that the active materials give, in ledger order. A pure function."""

    def view(self, image: Image) -> View:
        """Compile an image for reading. Blocks that an earlier view has cost nothing."""

    def usage(self, image: Image) -> Usage: ...


@runtime_checkable
class TakesFields(Protocol):
    """Accepts kinds of change whose fields the memory names itself, each a `Fields` model.

    The wire, the command and the documentation take them from here, so a new kind needs no line of the service.
    """

    @property
    def fields(self) -> Mapping[ChangeKind, type[Fields]]: ...


def block_key(edit: str) -> str:
    """The key of the block that an edit owns."""
    return f"edit/{edit}"
