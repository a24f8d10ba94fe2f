"""Makes a backup, read out of Redis page by page while the service runs, and restores one.

A backup ends at the version that was the newest when it began. Rows never change once a commit names them, so later
writes do not matter. A restore checks the whole file first and writes commits last; one that was cut off goes on when
it is given the same backup again. Until then the ledger takes no other commits.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt
from more_itertools import chunked

from models.graph.blocks import IMPORT, read_manifest
from service.access.api_keys import KeyStore
from service.access.audit.audit import Audit
from service.backup import members
from service.backup.archive import seal
from service.backup.members import About
from service.backup.verified import VerifiedBackup
from service.concurrency import iterate_in_thread
from service.curation.reviews import Reviews
from service.errors import InvalidInput, LedgerNotEmpty
from service.graph.imports.store import ImportStore
from service.ledger import block_store
from service.ledger.block_store import BLOCKS_PER_CALL
from service.ledger.reports import Reports
from service.ledger.snapshots import read_page
from service.ledger.store import RedisLedger
from service.ledger.tags import Tags

CALLS_PER_MEMBER = 1_000


@dataclass(frozen=True)
class Backup:
    ledger: RedisLedger
    keys: KeyStore
    audit: Audit

    async def contents(self, checkpoints: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Return the file in pieces. Reading it raises LedgerCorrupt when rows that a commit names are missing.

        Raises:
            NotReady: A restore is under way.
        """
        await self.ledger.check_restored(await self.ledger.head())
        return seal(self._members(checkpoints))

    async def _members(self, checkpoints: Mapping[str, str]) -> AsyncIterator[tuple[str, bytes]]:
        """Yield the members in the order in which a restore reads them."""
        version, digest = await self.ledger.end()
        about = About(version=version, digest=digest, created=time.time(), checkpoints=checkpoints)
        yield members.ABOUT, about.model_dump_json().encode()
        async for member in self._history(version):
            yield member
        tags = await Tags(self.ledger.connection).all()  # may include tags of versions made meanwhile
        lines = [tag.model_dump_json() for tag in tags if tag.version <= version]
        yield members.TAGS, _lines(lines)
        reviews = await Reviews(self.ledger.connection).list_until()
        yield members.REVIEWS, _lines([review.model_dump_json() for review in reviews])
        yield members.KEYS, _lines([key.model_dump_json() for key in await self.keys.all()])
        number, after = 0, None
        while calls := await self.audit.oldest(CALLS_PER_MEMBER, after):
            lines = [json.dumps([entry.id, entry.call.model_dump(exclude_none=True)]) for entry in calls]
            yield f"{members.AUDIT}{number:06}", _lines(lines)
            number, after = number + 1, calls[-1].id

    async def _history(self, version: int) -> AsyncIterator[tuple[str, bytes]]:
        """Yield commits page by page, each page after those of its blocks and rows that no earlier page has."""
        imports = ImportStore(self.ledger.connection)
        digests: set[str] = set()
        last = 0
        while last < version:
            commits = [commit for commit in (await read_page(self.ledger, last)) if commit.version <= version]
            entries = (entry for commit in commits for entry in commit.entries())
            fresh = {entry[2]: entry for entry in entries if entry[2] not in digests}
            digests |= fresh.keys()
            for batch in chunked(fresh.values(), BLOCKS_PER_CALL):
                for block in await self.ledger.blocks(batch):
                    yield members.BLOCKS + block.digest.removeprefix("sha256:"), block.encoded
                    if block.kind == IMPORT:
                        async for key, data in imports.rows(read_manifest(block)):
                            yield members.member_of(key), data
            lines = b"".join(commit.encoded + b"\n" for commit in commits)
            yield f"{members.LOG}{commits[0].version:010}", lines
            reports = await Reports(self.ledger.connection).find(*(commit.version for commit in commits))
            if reports:
                lines = _lines([report.model_dump_json() for report in reports])
                yield f"{members.REPORTS}{commits[0].version:010}", lines
            last = commits[-1].version

    async def restore(
        self, file: BinaryIO, checkpoints: Mapping[str, str], with_keys: bool = False
    ) -> RestoreReceipt:
        """Restore everything.

        Args:
            checkpoints: Memory -> its checkpoint in this service.
            with_keys: Whether keys work at once; otherwise each works only after it is rotated, so that the maker of a
                file gains no access.

        Raises:
            InvalidInput, LedgerNotEmpty: Nothing was written.
            LedgerUnavailable: Only a part was written; the same backup, given again, goes on.
        """
        backup = await asyncio.to_thread(VerifiedBackup.open, file)
        for memory, checkpoint in backup.about.checkpoints.items():
            running = checkpoints.get(memory)
            if running is not None and running != checkpoint:
                raise InvalidInput(
                    f"the rows of {memory} in this backup were written on checkpoint {checkpoint}, "
                    f"and this service runs {running}: restore it into a service with the former"
                )
        n_present, digest = await self.ledger.end()
        if n_present and list(backup.digests[n_present - 1 : n_present]) != [digest]:
            raise LedgerNotEmpty(
                f"the ledger is at version {n_present} already, with other commits than this backup's: "
                "restore into an empty ledger, that is with an empty --var or Redis",
                version=n_present,
            )
        is_whole = await self.ledger.begin_restore(backup.about.version, n_present)
        await self._restore_rows(backup, n_present)
        n_calls, n_keys, n_tags = (
            await self._restore_surroundings(backup, with_keys) if is_whole else (0, 0, 0)
        )
        async for commits in iterate_in_thread(backup.commits()):
            for commit in commits:
                if commit.version > n_present:
                    await self.ledger.put_back(commit)
        version = backup.about.version
        return RestoreReceipt(
            version=version, commits=version - n_present, tags=n_tags, keys=n_keys, audit=n_calls
        )

    async def _restore_surroundings(self, backup: VerifiedBackup, with_keys: bool) -> tuple[int, int, int]:
        """Restore reports, review dates, calls, keys and tags, and count the last three.

        A ledger that was not empty gets none.
        """
        async for batch in iterate_in_thread(backup.lines(members.REPORTS)):
            for report in batch:
                await Reports(self.ledger.connection).put(report)
        async for reviews in iterate_in_thread(backup.lines(members.REVIEWS)):
            await Reviews(self.ledger.connection).put(reviews)
        calls = [
            await self.audit.restore(entries)
            async for entries in iterate_in_thread(backup.lines(members.AUDIT))
        ]
        keys = [
            await self.keys.restore(key if with_keys else key.without_secrets())
            async for batch in iterate_in_thread(backup.lines(members.KEYS))
            for key in batch
        ]
        store = Tags(self.ledger.connection)
        tags = [
            await store.restore(t)
            async for batch in iterate_in_thread(backup.lines(members.TAGS))
            for t in batch
        ]
        return sum(calls), sum(keys), sum(tags)

    async def _restore_rows(self, backup: VerifiedBackup, n_present: int) -> None:
        """Restore rows. An import that a commit in the ledger names is left out: a note would mark it as dead."""
        imports = ImportStore(self.ledger.connection)
        missing = {source for source, version in backup.import_versions.items() if version > n_present}
        for source in missing:
            await imports.announce(source, backup.import_keys.get(source, ()))
        async for blocks in iterate_in_thread(backup.blocks()):
            await block_store.store(self.ledger.connection, blocks)
        async for batch in iterate_in_thread(backup.import_rows(missing)):
            await imports.store(batch)


def _lines(texts: Sequence[str]) -> bytes:
    return "".join(text + "\n" for text in texts).encode()
