"""What each edit contributes to the fold, kept at hand: made once, stored in the ledger, never made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.memory import Block
from models.system import Material
from service.ledger.commit import EditRecord
from service.ledger.store import Ledger


def key(edit: str) -> str:
    return f"edit/{edit}"


class Library:
    """Materials by edit; loaded together with the commits, so that old versions can be read while Redis is away."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._blocks: dict[str, Block] = {}

    def add(self, materials: Iterable[Material]) -> None:
        self._blocks.update((material.edit, material.block) for material in materials)

    async def load(self, edits: Iterable[EditRecord]) -> None:
        missing = [edit for edit in edits if edit.id not in self._blocks]
        entries = [(key(edit.id), edit.order, edit.material) for edit in missing]
        for edit, block in zip(missing, await self._ledger.blocks(entries), strict=True):
            self._blocks[edit.id] = block

    def of(self, edits: Sequence[EditRecord]) -> list[Material]:
        return [Material(edit.id, edit.method, self._blocks[edit.id], edit.notes) for edit in edits]
