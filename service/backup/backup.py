"""Makes a backup, read out of Redis page by page while the service runs, and restores one.

A backup ends at the version that was the newest when it began. Rows never change once a commit names them, so later
writes do not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt
from more_itertools import chunked

from models.graph.blocks import IMPORT, read_manifest
from service.access.access import Access
from service.access.api_keys import KeyStore
from service.access.audit.audit import Audit
from service.backup import archive as members
from service.backup.archive import About, seal
from service.backup.restore import Restore
from service.curation.upkeep import Reviews
from service.graph.imports.store import ImportStore
from service.ledger.manifests import BLOCKS_PER_CALL
from service.ledger.snapshots import read_page
from service.ledger.store import RedisLedger
from service.ledger.tags import Reports, Tags

CALLS_PER_MEMBER = 1_000


@dataclass(frozen=True)
class Backup:
    ledger: RedisLedger
    keys: KeyStore
    audit: Audit

    @staticmethod
    def over(access: Access) -> Backup:
        return Backup(RedisLedger(access.connection), access.keys, access.audit)

    async def contents(self, checkpoints: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Return the file in pieces. Reading it raises LedgerCorrupt when rows that a commit names are missing.

        Args:
            checkpoints: Memory -> the checkpoint on which its rows were written.

        Raises:
            NotReady: A restore is under way.
        """
        await self.ledger.check_restored(await self.ledger.head())
        return seal(self._members(checkpoints))

    async def restore(
        self, file: BinaryIO, checkpoints: Mapping[str, str], with_keys: bool = False
    ) -> RestoreReceipt:
        """Restore a backup; see `Restore.run`."""
        return await Restore(self.ledger, self.keys, self.audit, checkpoints, with_keys).run(file)

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
            page = await read_page(self.ledger, last)
            commits = [commit for commit in page if commit.version <= version]
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


def _lines(texts: Sequence[str]) -> bytes:
    return "".join(text + "\n" for text in texts).encode()
