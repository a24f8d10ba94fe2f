"""The editor's own copy of the ledger: every commit, every edit's material, and each memory as it stands.

Copied once at the start and brought up to date before every write, so that the log can be read while Redis is away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from models.memory import Image
from models.system import Material, System
from service.errors import LedgerCorrupt
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord
from service.ledger.images import commits_between
from service.ledger.store import Ledger


class Known:
    """Changes only under the writer's lock."""

    def __init__(self, ledger: Ledger, systems: Mapping[str, System]) -> None:
        self._ledger, self._systems = ledger, systems
        self.commits: list[Commit] = []
        self.edits: dict[str, EditRecord] = {}
        self.materials: dict[str, Material] = {}
        self.images: dict[str, Image] = {system.memory: system.base for system in systems.values()}

    @property
    def head(self) -> int:
        return len(self.commits)

    @property
    def previous(self) -> str:
        """Digest of the newest commit, which the next one names."""
        return self.commits[-1].digest if self.commits else ""

    async def catch_up(self) -> None:
        """LedgerUnavailable, or LedgerCorrupt when the rows do not fold to what the writer recorded."""
        head = await self._ledger.head()
        if head < self.head:
            raise LedgerCorrupt(
                f"the ledger ends at version {head} and this process knows version {self.head}: its data was lost "
                "or replaced; restore it, or start the service again",
                version=self.head,
            )
        fresh = await commits_between(self._ledger, self.head, head)
        if fresh:
            await self._load(fresh)
            images = await asyncio.to_thread(self.folded, self.active_with(fresh))
            _check(images, fresh)
            self.take(fresh, images)

    async def _load(self, commits: Sequence[Commit]) -> None:
        records = [record for commit in commits for record in commit.edits]
        entries = [(f"edit/{record.id}", record.order, record.material) for record in records]
        blocks = await self._ledger.blocks(entries)
        for record, block in zip(records, blocks, strict=True):
            self.materials[record.id] = Material(record.id, record.method, block, record.notes)

    def take(self, commits: Sequence[Commit], images: Mapping[str, Image]) -> None:
        """Make the commits part of what is known. Their materials are known already."""
        self.commits += commits
        self.edits.update(fold.edits(commits))
        self.images = dict(images)

    def active_with(self, commits: Sequence[Commit]) -> list[EditRecord]:
        return list(fold.active([*self.commits, *commits]).values())

    def active_at(self, version: int) -> dict[str, EditRecord]:
        return fold.active(self.commits[:version])

    def folded(
        self, active: Sequence[EditRecord], fresh: Mapping[str, Material] | None = None
    ) -> dict[str, Image]:
        """Every memory as these edits make it. fresh: materials that no commit holds yet."""
        materials = {**self.materials, **(fresh or {})}
        return {
            system.memory: system.fold([materials[r.id] for r in active if r.memory == system.memory])
            for system in self._systems.values()
        }


def at_order(material: Material, order: int) -> Material:
    """The material at its place in the ledger."""
    return replace(material, block=replace(material.block, order=order))


def _check(images: Mapping[str, Image], commits: Sequence[Commit]) -> None:
    recorded = {memory: (c.version, write.checksum) for c in commits for memory, write in c.writes.items()}
    for memory, (version, checksum) in recorded.items():
        if memory in images and images[memory].checksum != checksum:
            raise LedgerCorrupt(
                f"{memory} folds to {images[memory].checksum} and version {version} recorded {checksum}: this "
                "process runs another checkpoint than the one that wrote the ledger, or rows were altered",
                version=version,
                memory=memory,
            )
