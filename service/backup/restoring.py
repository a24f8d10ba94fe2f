"""A backup back into an empty ledger, bit for bit: checked whole before anything is written, commits last.

What stops in the middle is gone on with by giving the same backup again: what is there already is left as it is. Until
then nobody else commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt

from service.access.api_keys import KeyStore
from service.access.audit import Audit
from service.backup.checking import Checked
from service.backup.layout import About
from service.concurrency import iterate_in_thread
from service.errors import InvalidInput, LedgerNotEmpty
from service.graph.imports.store import ImportStore
from service.ledger import rows
from service.ledger.store import RedisLedger
from service.ledger.tags import Tags


@dataclass(frozen=True)
class Restoring:
    """checkpoints: memory -> what its rows lie on in this service."""

    ledger: RedisLedger
    keys: KeyStore
    audit: Audit
    checkpoints: Mapping[str, str]

    async def run(self, file: BinaryIO) -> RestoreReceipt:
        """InvalidInput, Conflict: nothing was written. LedgerUnavailable: give it again to go on."""
        backup = await asyncio.to_thread(Checked.of, file)
        self._check_checkpoints(backup.about)
        done = await self._common(backup)
        await self.ledger.begin_restore(backup.about.version)
        await self._rows(backup, done)
        calls = await self._calls(backup)
        names = await self._keys(backup)
        tags = await self._tags(backup)
        commits = await self._commits(backup, done)
        return RestoreReceipt(
            version=backup.about.version, commits=commits, tags=tags, keys=names, audit=calls
        )

    def _check_checkpoints(self, about: About) -> None:
        for memory, checkpoint in about.checkpoints.items():
            ours = self.checkpoints.get(memory)
            if ours is not None and ours != checkpoint:
                said = f"the rows of {memory} in this backup lie on the checkpoint {checkpoint}"
                raise InvalidInput(f"{said}, and this service runs {ours}: restore it where that one runs")

    async def _common(self, backup: Checked) -> int:
        """How many of the backup's commits the ledger has already. Conflict when it has others."""
        version, digest = await self.ledger.end()
        if version == 0:
            return 0
        if list(backup.digests[version - 1 : version]) != [digest]:
            detail = f"the ledger is at version {version} already, with other commits than this backup's"
            advice = "restore into an empty one, that is with an empty --var or Redis"
            raise LedgerNotEmpty(f"{detail}: {advice}", version=version)
        return version

    async def _rows(self, backup: Checked, done: int) -> None:
        """Imports that a commit here names have theirs: noted again, they would be taken for dead."""
        imports = ImportStore(self.ledger.connection)
        coming = {source for source, version in backup.made.items() if version > done}
        for source in coming:
            await imports.announce(source, backup.pieces[source])
        async for some in iterate_in_thread(backup.blocks()):
            await rows.store(self.ledger.connection, some)
        async for pieces in iterate_in_thread(backup.rows_of(coming)):
            await imports.put(pieces)

    async def _calls(self, backup: Checked) -> int:
        return sum([await self.audit.restore(some) async for some in iterate_in_thread(backup.calls())])

    async def _keys(self, backup: Checked) -> int:
        """Whoever made the file, it opens nothing."""
        found = [key.without_secrets() async for some in iterate_in_thread(backup.keys()) for key in some]
        return sum([await self.keys.restore(key) for key in found])

    async def _tags(self, backup: Checked) -> int:
        tags = Tags(self.ledger.connection)
        found = [tag async for some in iterate_in_thread(backup.tags()) for tag in some]
        return sum([await tags.restore(tag) for tag in found])

    async def _commits(self, backup: Checked, done: int) -> int:
        count = 0
        async for some in iterate_in_thread(backup.commits()):
            for commit in some:
                if commit.version > done:
                    await self.ledger.put_back(commit)
                    count += 1
        return count
