"""Dropping the rows of old versions, and bringing a version back.

Nothing is lost by it: the commits stay, and what every edit contributes, from which the editor folds any version. So
all of them can still be shown, compared, reverted and returned to. What ends is that a question may insist on one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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

ATTEMPTS = 10  # when others commit or tag meanwhile
EVERY_S = 3_600.0
DAY_S = 86_400.0


@dataclass(frozen=True)
class Count:
    """What a compaction would do at `present`: to which `kept`, and the sizes of the rows that would go."""

    present: Present
    before: Kept
    kept: Kept
    sizes: Mapping[str, int]


class Compactor:
    """Works while nobody writes here; other writers are noticed, and what they need is looked up anew."""

    def __init__(self, connection: Connection, writer: Writer, folder: Folder) -> None:
        self._connection, self._writer, self._folder = connection, writer, folder
        self._retention, self._tags = Retention(connection), Tags(connection)

    async def state(self) -> Retained:
        kept, present = await self._retention.kept(), await self._writer.known()
        return Retained(oldest=kept.oldest, older=list(kept.also), newest=present.version)

    async def compact(self, asked: CompactionRequest) -> Compaction:
        """Where no row would go, no version does. NotReady while a restore is not at its end."""
        count = await self._count(asked)
        if asked.dry_run or not count.sizes:
            return _told(count.before, count.kept, count.present, count.sizes, asked.dry_run)
        async with self._writer.still():
            return await self._dropped(asked, count.before)

    async def _dropped(self, asked: CompactionRequest, first: Kept) -> Compaction:
        gone: dict[str, int] = {}
        for _ in range(ATTEMPTS):
            count = await self._count(asked)
            if await self._drop(count, gone):
                return _told(first, count.kept, count.present, gone)
        raise NotReady(f"others committed or tagged {ATTEMPTS} times meanwhile: send it again")

    async def _drop(self, count: Count, gone: dict[str, int]) -> bool:
        """False when something has changed since it was counted; rows that are gone until then are needed by none."""
        if not count.sizes:
            return True
        if not await self._retention.change(count.before, count.kept):
            return False
        names: list[str] = []
        if not await self._tagged_meanwhile(count):
            names = list(count.sizes)
            done = await self._retention.drop(names, count.present.digest, count.kept)
            gone.update((name, count.sizes[name]) for name in names[:done])
            if done == len(names):
                return True
        if not gone:
            back = count.kept.changed(count.before.oldest, count.before.also)
            await self._retention.change(count.kept, back)
        return False

    async def _count(self, asked: CompactionRequest) -> Count:
        present, before = await self._writer.newest(), await self._retention.kept()
        before.check_restored(present.version)
        oldest = max(before.oldest, oldest_kept(present.commits, asked, time.time()))
        tagged = [tag.version for tag in await self._tags.all() if before.has(tag.version)]
        kept = before.changed(oldest, tagged)
        sizes = await self._retention.sizes(await asyncio.to_thread(dropped, present.commits, kept))
        return Count(present, before, kept if sizes else before, sizes)

    async def _tagged_meanwhile(self, count: Count) -> bool:
        """By another editor, to which the version was a kept one."""
        versions = [tag.version for tag in await self._tags.all()]
        return any(count.before.has(one) and not count.kept.has(one) for one in versions)

    async def tag(self, present: Present, tag: Tag) -> None:
        """The version of a tag is kept; one whose rows were dropped is brought back.

        VersionDropped when a memory of it is not served here.
        """
        async with self._writer.still():
            await self._bring_back(present, tag.version)
            await self._tags.put(tag)
            await self._bring_back(present, tag.version)  # another editor may not have seen the tag

    async def _bring_back(self, present: Present, version: int) -> None:
        for _ in range(ATTEMPTS):
            before = await self._retention.kept()
            if before.has(version):
                return
            readings = await self._folder.at(present, version)
            _check(readings, present.commits[:version])
            begun = before.changed(
                before.oldest, before.also
            )  # what is being dropped now is dropped no further
            if not await self._retention.change(before, begun):
                continue
            for reading in readings.values():
                await rows.store(self._connection, reading.image.ordered)
            if await self._retention.change(begun, begun.changed(begun.oldest, (*begun.also, version))):
                return
        raise NotReady(f"others dropped or tagged versions {ATTEMPTS} times meanwhile: send it again")

    async def run(self, asked: CompactionRequest) -> None:
        """Every so often, for ever."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.compact(asked)
            except ErrataError as error:
                log.warning("old versions are not dropped yet: %s", error.detail)
            except Exception:  # a defect; the next one may go well
                log.exception("old versions are not dropped")


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


def _told(
    before: Kept, kept: Kept, present: Present, gone: Mapping[str, int], dry_run: bool = False
) -> Compaction:
    return Compaction(
        oldest=kept.oldest,
        older=list(kept.also),
        newest=present.version,
        dry_run=dry_run,
        versions=sum(before.has(one) and not kept.has(one) for one in range(1, kept.oldest)),
        rows=len(gone),
        bytes=sum(gone.values()),
    )
