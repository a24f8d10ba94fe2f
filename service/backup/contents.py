"""What a backup holds, read out of Redis page by page while the service goes on.

It ends at the version that was the newest when it began. Rows never change once a commit names them, so what is
written meanwhile disturbs nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from models.graph.blocks import IMPORT, read_manifest
from models.memory import Block
from service.access.api_keys import KeyStore
from service.access.audit import Audit
from service.backup import layout
from service.backup.layout import About
from service.graph.imports.store import ImportStore
from service.ledger.commit import Commit, Entry
from service.ledger.rows import chunks
from service.ledger.snapshots import read_page
from service.ledger.store import RedisLedger
from service.ledger.tags import Tags

AUDITED = 1_000  # calls in one member


@dataclass(frozen=True)
class Contents:
    """checkpoints: memory -> what its rows lie on."""

    ledger: RedisLedger
    keys: KeyStore
    audit: Audit
    checkpoints: Mapping[str, str]

    async def members(self) -> AsyncIterator[tuple[str, bytes]]:
        """Name and bytes. LedgerCorrupt when something that a commit names is missing: then it is no backup."""
        version, digest = await self.ledger.end()
        about = About(
            version=version,
            digest=digest,
            created=time.time(),
            checkpoints=self.checkpoints,
        )
        yield layout.ABOUT, about.model_dump_json().encode()
        async for member in self._history(version):
            yield member
        yield layout.TAGS, await self._tags(version)
        yield layout.KEYS, await self._keys()
        async for member in self._calls():
            yield member

    async def _history(self, version: int) -> AsyncIterator[tuple[str, bytes]]:
        written: set[str] = set()
        async for commits in self._pages(version):
            entries = (entry for commit in commits for entry in commit.entries())
            fresh = {entry[2]: entry for entry in entries if entry[2] not in written}
            written |= fresh.keys()
            async for member in self._rows(list(fresh.values())):
                yield member
            lines = b"".join(commit.encoded + b"\n" for commit in commits)
            yield f"{layout.LOG}{commits[0].version:010}", lines

    async def _pages(self, version: int) -> AsyncIterator[list[Commit]]:
        done = 0
        while done < version:
            commits = [one for one in await read_page(self.ledger, done) if one.version <= version]
            yield commits
            done = commits[-1].version

    async def _rows(self, entries: Sequence[Entry]) -> AsyncIterator[tuple[str, bytes]]:
        for some in chunks(entries):
            for block in await self.ledger.blocks(some):
                yield layout.BLOCKS + block.digest.removeprefix("sha256:"), block.encoded
                if block.kind == IMPORT:
                    async for member in self._imported(block):
                        yield member

    async def _imported(self, block: Block) -> AsyncIterator[tuple[str, bytes]]:
        async for key, data in ImportStore(self.ledger.connection).rows(read_manifest(block)):
            yield layout.piece(key), data

    async def _tags(self, version: int) -> bytes:
        """Those of later versions came meanwhile."""
        tags = await Tags(self.ledger.connection).all()
        return b"".join(tag.model_dump_json().encode() + b"\n" for tag in tags if tag.version <= version)

    async def _keys(self) -> bytes:
        return b"".join(
            key.without_secrets().model_dump_json().encode() + b"\n" for key in await self.keys.all()
        )

    async def _calls(self) -> AsyncIterator[tuple[str, bytes]]:
        """The oldest first, so that they can be written back in their order."""
        after: str | None = None
        number = 0
        while calls := await self.audit.oldest(AUDITED, after):
            lines = (json.dumps([one.id, one.call.model_dump(exclude_none=True)]) + "\n" for one in calls)
            yield f"{layout.AUDIT}{number:06}", "".join(lines).encode()
            after, number = calls[-1].id, number + 1
