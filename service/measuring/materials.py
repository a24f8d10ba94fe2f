"""What each edit contributes to the fold, kept at hand: made once, stored in the ledger, never made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.memory import Material
from service.ledger.commit import EditRecord
from service.ledger.store import Ledger


def key(edit: str) -> str:
    return f"edit/{edit}"


class Library:
    """Materials by edit; loaded together with the commits, so that old versions can be read while Redis is away."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._materials: dict[str, Material] = {}

    def add(self, materials: Iterable[Material]) -> None:
        self._materials.update((material.edit, material) for material in materials)

    async def load(self, edits: Iterable[EditRecord]) -> None:
        missing = [edit for edit in edits if edit.id not in self._materials]
        entries = [(key(edit.id), edit.order, edit.material) for edit in missing]
        for edit, block in zip(missing, await self._ledger.blocks(entries), strict=True):
            self._materials[edit.id] = Material(edit.id, edit.method, block, edit.notes)

    def of(self, edits: Sequence[EditRecord]) -> list[Material]:
        """The same objects each time: tens of thousands are asked for at each commit."""
        return [self._materials[edit.id] for edit in edits]
