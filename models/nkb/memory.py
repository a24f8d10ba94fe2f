"""`nkb/bank`: the value rows of the bank as an editable memory, written by gated slots or by the paper's surgery.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399). The rows of an edit follow from the base alone
(models/nkb/edit.py), and so does the image of all active edits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from torch import Tensor

from models.blocks import Block, Delta, Image
from models.memory import AnswerChange, ChangeKind, EditRefused, Material, Options, Usage
from models.nkb.edit import fold, materials
from models.nkb.overlay import value_rows
from models.nkb.reader import ReadCache, Reader
from models.scope.active import ActiveEdits
from models.scope.wordings.table import WordingTable
from models.versioned_blocks import Prefix

BANK = "nkb/bank"
# Blocks, the number of gated edits among them, and of the tokens of their answers.
GatedCount: TypeAlias = tuple[Prefix[Block], int, int]
NO_BLOCKS: GatedCount = Prefix([]), 0, 0


class BankOptions(Options):
    """The options of an edit."""

    method: Literal["gated", "surgery"] = "gated"  # gated slots that the edit owns, or the paper's surgery
    # Lambda of equation 12. Without it surgery takes the smallest with which each token leads; the paper takes 0.07
    # for every answer.
    scale: Annotated[float, Field(gt=0, le=20)] | None = Field(default=None, alias="lambda")


@dataclass(frozen=True, eq=False)
class BankView:
    """One version of the bank: routed edits, and value rows that surgery moved, with the edits that did."""

    active_edits: ActiveEdits
    values: Mapping[int, tuple[Tensor, Tensor]]
    surgery_edits: Mapping[tuple[int, int], tuple[str, ...]]


class BankMemory:
    """The bank of one checkpoint.

    Args:
        name: Name of the memory; checkpoints that are served together have different ones.
    """

    accepts: frozenset[ChangeKind] = frozenset({"answer"})
    options = BankOptions

    def __init__(self, reader: Reader, reads: ReadCache, name: str = BANK) -> None:
        self.name = name
        self._reader, self._reads = reader, reads
        self._wordings = WordingTable(reader.scope.judge, reader.device)
        self._last_count = NO_BLOCKS

    @cached_property
    def base(self) -> Image:
        return Image(self._reader.digest)

    def build(self, changes: Sequence[AnswerChange], options: BankOptions) -> list[Material | EditRefused]:
        """Build many changes together; a batch with a refused change is halved until that one is alone."""
        try:
            return list(materials(self._reader, self._reads.read, changes, options.method, options.scale))
        except EditRefused as refusal:
            if len(changes) == 1:
                return [refusal]
        middle = len(changes) // 2
        return [*self.build(changes[:middle], options), *self.build(changes[middle:], options)]

    def fold(self, active: Sequence[Material]) -> Image:
        return fold(self.base, self._reader.decoder, active)

    def grow(self, image: Image, materials: Sequence[Material]) -> Image | None:
        """Add gated edits, a block each; None for surgery, whose rows have to be summed in the ledger's order."""
        if any(material.block.kind != "gated" for material in materials):
            return None
        return image.apply(Delta(tuple(material.block for material in materials)))

    def view(self, image: Image) -> BankView:
        blocks: Sequence[Block] = image.ordered_blocks
        moved_rows: Sequence[Block] = ()
        if self._count(image)[1] < len(blocks):
            moved_rows = [block for block in blocks if block.kind == "value"]
            blocks = [block for block in blocks if block.kind == "gated"]
        return BankView(self._wordings.view(blocks), *value_rows(moved_rows, self._reader.device))

    def usage(self, image: Image) -> Usage:
        _, n_gated, n_tokens = self._count(image)
        return Usage(n_tokens + len(image.blocks) - n_gated, None)

    def _count(self, image: Image) -> GatedCount:
        """Count the gated edits of an image, from the last count if the image only adds blocks to that one's."""
        blocks, last = image.ordered_blocks, self._last_count
        last_blocks, n_gated, n_tokens = last if blocks.starts_with(last[0]) else NO_BLOCKS
        gated = [block for block in blocks[len(last_blocks) :] if block.kind == "gated"]
        n_tokens += sum(block.parts["tokens"].shape[0] for block in gated)
        count = self._last_count = blocks, n_gated + len(gated), n_tokens
        return count
