"""Dropping the rows of old versions, and bringing a version back.

Nothing is lost by it: the commits stay, and what every edit contributes, from which the editor folds any version. So
all of them can still be shown, compared, reverted and returned to. What ends is that a question may insist on one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from errata.wire import Compaction, CompactionRequest, Retained

from service.editing.folding import Folder
from service.editing.writer import Writer
from service.errors import ErrataError, NotReady, VersionDropped
from service.ledger import rows
from service.ledger.commit import Commit
from service.ledger.connection import Connection
from service.ledger.kept import Kept, Retention, dropped
from service.ledger.tags import Tag, Tags
from service.measuring.present import Present
from service.measuring.reading import Reading

log = logging.getLogger(__name__)

ATTEMPTS = 10  # when others commit meanwhile
EVERY_S = 600.0
DAY_S = 86_400.0


class Compactor:
    """Works while nobody writes here; other writers are noticed, and what they need is looked up anew."""

    def __init__(self, connection: Connection, writer: Writer, folder: Folder) -> None:
        self._connection, self._writer, self._folder = connection, writer, folder
        self._retention, self._tags = Retention(connection), Tags(connection)

    async def state(self) -> Retained:
        kept = await self._retention.kept()
        return Retained(oldest=kept.oldest, older=list(kept.also), newest=await self._version())

    async def _version(self) -> int:
        return (await self._writer.known()).version

    async def compact(self, asked: CompactionRequest) -> Compaction:
        async with self._writer.still():
            for _ in range(ATTEMPTS):
                done = await self._attempt(await self._writer.newest(), asked)
                if done is not None:
                    return done
        raise NotReady(f"others committed {ATTEMPTS} times meanwhile: send it again")

    async def _attempt(self, present: Present, asked: CompactionRequest) -> Compaction | None:
        """None when there is a newer version by now. What was dropped until then was needed by none.

        Where no row would go, no version does.
        """
        before = await self._retention.kept()
        kept = self._narrowed(before, present, asked, await self._tags.all())
        gone = await asyncio.to_thread(dropped, present.commits, kept)
        sizes = await self._retention.sizes(gone)
        if not sizes:
            kept = before
        elif not asked.dry_run:
            await self._retention.keep(kept)
            if await self._tagged_meanwhile(before, kept):
                await self._retention.keep(before)
                return None
            if not await self._retention.drop(sizes, present.digest):
                return None
        return Compaction(
            oldest=kept.oldest,
            older=list(kept.also),
            newest=present.version,
            dry_run=asked.dry_run,
            versions=sum(before.has(one) and not kept.has(one) for one in range(1, present.version + 1)),
            rows=len(sizes),
            bytes=sum(sizes.values()),
        )

    @staticmethod
    def _narrowed(before: Kept, present: Present, asked: CompactionRequest, tags: Sequence[Tag]) -> Kept:
        oldest = max(before.oldest, oldest_kept(present.commits, asked, time.time()))
        return Kept.of(oldest, (tag.version for tag in tags if before.has(tag.version)))

    async def _tagged_meanwhile(self, before: Kept, kept: Kept) -> bool:
        """By another editor, which saw `before`."""
        return any(before.has(tag.version) and not kept.has(tag.version) for tag in await self._tags.all())

    async def bring_back(self, present: Present, version: int) -> None:
        """Its rows, folded again. VersionDropped when a memory of it is not served here."""
        kept = await self._retention.kept()
        if kept.has(version):
            return
        readings = await self._folder.at(present, version)
        _check(readings, present.commits[:version])
        for reading in readings.values():
            await rows.store(self._connection, reading.image.ordered)
        await self._retention.keep(Kept.of(kept.oldest, (*kept.also, version)))

    async def run(self, asked: CompactionRequest) -> None:
        """Every so often, for ever."""
        while True:
            try:
                await self.compact(asked)
            except ErrataError as error:
                log.warning("old versions are not dropped yet: %s", error.detail)
            await asyncio.sleep(EVERY_S)


def oldest_kept(commits: Sequence[Commit], asked: CompactionRequest, now: float) -> int:
    """The first version that stays; each of the two conditions keeps what it keeps."""
    first = len(commits)
    if asked.versions is not None:
        first = min(first, len(commits) - asked.versions + 1)
    if asked.days is not None:
        since = now - asked.days * DAY_S
        later = (number for number, commit in enumerate(commits) if commit.time > since)
        first = min(first, next(later, first))  # the one before it was the newest then
    return max(1, first)


def _check(readings: Mapping[str, Reading], commits: Sequence[Commit]) -> None:
    """That they are what the commits say, in every memory that the commits wrote."""
    found = {reading.system.memory: reading.image.checksum for reading in readings.values()}
    recorded = {memory: write.checksum for commit in commits for memory, write in commit.writes.items()}
    for memory, checksum in recorded.items():
        if found.get(memory) != checksum:
            detail = f"version {len(commits)} cannot be brought back: {memory}"
            reason = "folds to other rows here" if memory in found else "is not served here: serve its model"
            raise VersionDropped(f"{detail} {reason}", version=len(commits))
