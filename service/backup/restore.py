"""Restores a backup into an empty ledger, bit for bit: the whole file is checked first, and commits are written last.

A restore that was cut off goes on when it is given the same backup again; data that is there already stays. Until then
the ledger takes no other commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt

from service.access.api_keys import KeyStore
from service.access.audit.audit import Audit
from service.backup.verify import VerifiedBackup
from service.concurrency import iterate_in_thread
from service.curation.upkeep import Reviews
from service.errors import InvalidInput, LedgerNotEmpty
from service.graph.imports.store import ImportStore
from service.ledger import manifests as rows
from service.ledger.store import RedisLedger
from service.ledger.tags import Reports, Tags


@dataclass(frozen=True)
class Restore:
    """A restore."""

    ledger: RedisLedger  # the ledger to restore into
    keys: KeyStore  # the issued keys
    audit: Audit
    checkpoints: Mapping[str, str]  # memory -> its checkpoint in this service
    # True restores keys so that they work; otherwise each works only after it is rotated, so that the maker
    # of a file gains no access
    with_keys: bool = False

    async def run(self, file: BinaryIO) -> RestoreReceipt:
        """Restore everything.

        Raises:
            InvalidInput, LedgerNotEmpty: Nothing was written.
            LedgerUnavailable: Only a part was written; the same backup, given again, goes on.
        """
        backup = await asyncio.to_thread(VerifiedBackup.open, file)
        for memory, checkpoint in backup.about.checkpoints.items():
            running = self.checkpoints.get(memory)
            if running is not None and running != checkpoint:
                detail = f"the rows of {memory} in this backup were written on checkpoint {checkpoint}"
                raise InvalidInput(
                    f"{detail}, and this service runs {running}: restore it into a service with the former"
                )
        n_present, digest = await self.ledger.end()
        if n_present and list(backup.digests[n_present - 1 : n_present]) != [digest]:
            detail = f"the ledger is at version {n_present} already, with other commits than this backup's"
            advice = "restore into an empty ledger, that is with an empty --var or Redis"
            raise LedgerNotEmpty(f"{detail}: {advice}", version=n_present)
        is_whole = await self.ledger.begin_restore(backup.about.version, n_present)
        await self._restore_rows(backup, n_present)
        n_calls, n_keys, n_tags = await self._restore_surroundings(backup) if is_whole else (0, 0, 0)
        async for commits in iterate_in_thread(backup.commits()):
            for commit in commits:
                if commit.version > n_present:
                    await self.ledger.put_back(commit)
        version = backup.about.version
        return RestoreReceipt(
            version=version, commits=version - n_present, tags=n_tags, keys=n_keys, audit=n_calls
        )

    async def _restore_surroundings(self, backup: VerifiedBackup) -> tuple[int, int, int]:
        """Restore reports, review dates, calls, keys and tags, and count the last three.

        A ledger that was not empty gets none.
        """
        async for batch in iterate_in_thread(backup.reports()):
            for report in batch:
                await Reports(self.ledger.connection).put(report)
        async for reviews in iterate_in_thread(backup.reviews()):
            await Reviews(self.ledger.connection).put(reviews)
        calls = [await self.audit.restore(entries) async for entries in iterate_in_thread(backup.calls())]
        keys = [
            await self.keys.restore(key if self.with_keys else key.without_secrets())
            async for batch in iterate_in_thread(backup.keys())
            for key in batch
        ]
        store = Tags(self.ledger.connection)
        tags = [await store.restore(t) async for batch in iterate_in_thread(backup.tags()) for t in batch]
        return sum(calls), sum(keys), sum(tags)

    async def _restore_rows(self, backup: VerifiedBackup, n_present: int) -> None:
        """Restore rows. An import that a commit in the ledger names is left out: a note would mark it as dead."""
        imports = ImportStore(self.ledger.connection)
        missing = {source for source, version in backup.import_versions.items() if version > n_present}
        for source in missing:
            await imports.announce(source, backup.import_keys.get(source, ()))
        async for blocks in iterate_in_thread(backup.blocks()):
            await rows.store(self.ledger.connection, blocks)
        async for batch in iterate_in_thread(backup.import_rows(missing)):
            await imports.store(batch)
