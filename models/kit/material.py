"""The base of a memory in which an edit owns a block: the state is the union of the active blocks, so undo is exact.

A block of texts holds each as its bytes in UTF-8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from models.blocks import Block, Image, block_key
from models.memory import EditRefused, Material, Options, Usage

if TYPE_CHECKING:  # torch takes seconds to import, and a reader of blocks need not wait for it
    from torch import Tensor


class UnionMemory:
    """A memory whose class has a name, the kinds that it accepts, `make` and `view`."""

    name: str
    options: type[Options] = Options

    @cached_property
    def base(self) -> Image:
        """Return the memory without edits, which holds nothing."""
        return Image("sha256:" + hashlib.sha256(self.name.encode()).hexdigest())

    def build(self, changes: Sequence[Any], options: Any) -> list[Material | EditRefused]:
        """Build each change from the base alone; one that cannot work is refused in its place."""
        return [self._try(change) for change in changes]

    def _try(self, change: Any) -> Material | EditRefused:
        try:
            return self.make(change)
        except EditRefused as refusal:
            return refusal

    def make(self, change: Any) -> Material:
        """Return the rows of a change. EditRefused: it cannot work."""
        raise NotImplementedError

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return all active edits, each a block."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def usage(self, image: Image) -> Usage:
        """Count the edits; there is room for any number."""
        return Usage(slots_used=len(image.blocks), slots_reserved=None)


def write_texts(
    edit: str, kind: str, texts: Mapping[str, str], notes: Mapping[str, Any] | None = None
) -> Material:
    """Return the rows of an edit that are texts, by their names."""
    tensors = {name: to_tensor(text) for name, text in texts.items()}
    return Material(edit, kind, Block.of(block_key(edit), 0, kind, tensors), notes or {})


def to_tensor(text: str) -> Tensor:
    """Return the bytes of a text."""
    import torch

    data = bytearray(text.encode())
    return torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def read_text(block: Block, name: str) -> str:
    """Return a text of a block."""
    return block.tensors[name].numpy().tobytes().decode()
