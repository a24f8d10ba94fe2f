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
from functools import cached_property
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
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict

from models.versioned_blocks import Prefix, VersionedBlocks

if TYPE_CHECKING:  # torch takes seconds to import, and who passes rows on does not look into them
    from torch import Tensor


EDIT_PREFIX = "edit/"  # beginning of the key of a block that one edit owns


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
        from safetensors.torch import save

        sorted_tensors = {name: tensors[name].contiguous() for name in sorted(tensors)}
        data = save(sorted_tensors, metadata={"kind": kind})
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


DTYPES = {  # name in safetensors -> name in torch, and bytes of one number
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "I16": ("int16", 2), "I32": ("int32", 4),
    "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2), "F32": ("float32", 4), "F64": ("float64", 8),
}  # fmt: skip


_HEADERS: WeakValueDictionary[bytes, Header] = WeakValueDictionary()


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


ChangeKind: TypeAlias = Literal["answer", "triple", "rows", "rule", "document", "sense"]
CHANGE_KINDS: frozenset[str] = frozenset(get_args(ChangeKind))

View: TypeAlias = Any
"""A memory at one version, compiled for reading. Immutable, and opaque to all but the systems that read the memory."""

Views: TypeAlias = Mapping[str, View]
"""Memory name -> its view, of every memory that one system reads, all at one version."""


@runtime_checkable
class Change(Protocol):
    """The request of an edit to one memory, resolved to plain values. A memory knows the kinds that it accepts."""

    @property
    def kind(self) -> ChangeKind:
        """Return the kind, one of those that the memory accepts."""

    @property
    def id(self) -> str:
        """Return the id of the edit; it names the block (`block_key`) and stays out of the rows."""


@dataclass(frozen=True)
class AnswerChange:
    """A question and its paraphrases get a new answer."""

    kind: ClassVar[ChangeKind] = "answer"

    id: str  # id of the edit
    question: str  # the question that was answered wrongly
    answer: str  # the right answer
    paraphrases: tuple[str, ...] = ()  # the question in other words
    counterexamples: tuple[str, ...] = ()  # questions that resemble it and ask for something else
    # Ids of earlier edits about the same fact; the new edit answers their wordings, too
    replaces: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()  # the question with other names of what it mentions

    @property
    def wordings(self) -> tuple[str, ...]:
        """Return all wordings that the edit answers."""
        return (self.question, *self.paraphrases, *self.other_names)


class Fields(BaseModel):
    """The fields of a change that only one memory knows; each kind has a subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def summarize(self) -> str:
        """Return the change in one line of words, for logs and diffs."""
        return ", ".join(f"{name} {value}" for name, value in self.model_dump(exclude_unset=True).items())

    def outline(self) -> dict[str, Any]:
        """Return the fields as reports and the log keep them, as JSON values. A memory of long texts cuts them."""
        return self.model_dump(mode="json", exclude_unset=True)


@dataclass(frozen=True)
class FieldsChange:
    """A change of a kind whose fields the memory names."""

    id: str  # id of the edit
    kind: ChangeKind  # a kind that the memory accepts
    fields: Fields  # what the curator wrote, checked
    question: str = ""  # question that shows whether the change works; "" if none is known
    answer: str = ""  # expected answer to the question


class Options(BaseModel):
    """The settings of a curator beside a change; a memory subclasses it. A memory with several methods has `method`.

    Options are frozen and refuse unknown names, so equal options are one entry of a cache.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @classmethod
    def methods(cls) -> tuple[str, ...]:
        """Return the editing methods, the default first; () for a memory with one."""
        field = cls.model_fields.get("method")
        return () if field is None else get_args(field.annotation)

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of the options as the wire has them."""
        return frozenset(field.alias or name for name, field in cls.model_fields.items())


class EditRefused(ValueError):
    """An edit that cannot work, with a stable code (`no_active_slot`, `unreachable`, ...) and what to do."""

    def __init__(self, code: str, detail: str) -> None:
        """Make the refusal of one change."""
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Material:
    """The contribution of one edit to the fold. It is built once, from the base alone, and never changes."""

    edit: str  # id of the edit
    method: str  # name of the method that built the rows
    block: Block  # the rows; the writer sets `order`, the edit's place in the ledger, before the fold
    # What the report says about the rows (slots, margin, lambda, warnings), as JSON values
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """The fill level of a memory."""

    slots_used: int  # number of slots that all active edits take
    # Number of slots that exist; None where edits bring their own, which the service then limits
    slots_reserved: int | None
    warnings: tuple[str, ...] = ()  # sentences for a curator


@runtime_checkable
class Memory(Protocol):
    """A named table of rows that systems read while they answer and that edits write.

    Its members may be called from any thread: images and views are immutable, and the base never changes.
    """

    @property
    def name(self) -> str:
        """Return the name, e.g. `nkb/bank`."""

    @property
    def accepts(self) -> frozenset[ChangeKind]:
        """Return the kinds of change that the memory takes."""

    @property
    def options(self) -> type[Options]:
        """Return the model of what a curator may set beside a change."""

    @property
    def base(self) -> Image:
        """Return the memory with no edits."""

    def build(self, changes: Sequence[Any], options: Any) -> list[Material | EditRefused]:
        """Turn changes into rows, in order, from the base alone, so that undo is exact; refuse what cannot work."""

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return the image that the active materials give, in ledger order, as a pure function of them."""

    def view(self, image: Image) -> View:
        """Compile an image for reading; blocks that an earlier view has cost nothing."""

    def usage(self, image: Image) -> Usage:
        """Tell how full the memory is."""


@runtime_checkable
class Grows(Protocol):
    """Folds edits that follow on all others without folding the others again, so that a commit costs what it adds."""

    def grow(self, image: Image, materials: Sequence[Material]) -> Image | None:
        """Return what `fold` gives for the materials of an image and then these; None where only `fold` tells."""


@runtime_checkable
class TakesFields(Protocol):
    """Accepts kinds of change whose fields the memory names itself, each a `Fields` model.

    The wire, the command and the documentation take them from here, so a new kind needs no line of the service.
    """

    @property
    def fields(self) -> Mapping[ChangeKind, type[Fields]]:
        """Return the model of the fields of each such kind."""


@runtime_checkable
class ChecksFields(Protocol):
    """Refuses a change that has no effect on its version, such as the correction of a text that is missing.

    `build` sees the base alone. What depends on the other edits is checked once, on the version that the change is made
    on; the fold does not depend on it.
    """

    def check(self, fields: Any, view: View) -> EditRefused | None:
        """Return why the change cannot be made, or None.

        Args:
            fields: What the curator wrote, one of the memory's `Fields`.
            view: The memory before the change. The code `not_found` says that it lacks what the change is about.
        """


def block_key(edit: str) -> str:
    """Return the key of the block that an edit owns."""
    return EDIT_PREFIX + edit
