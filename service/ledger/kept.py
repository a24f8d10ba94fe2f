"""Which versions still have their rows. Commits stay for ever; rows that no kept version reads may be dropped.

What an edit contributes stays too, so every commit can be reverted and every version be returned to, compared or
made again. Only a question that insists on a dropped version cannot be answered.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from service.errors import VersionDropped
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.connection import Connection
from service.ledger.rows import chunks
from service.ledger.script import lua

ROWS_PER_CALL = 1_000


@dataclass(frozen=True)
class Kept:
    """All versions from `oldest` on, and those of `also`, which are older. The base, version 0, needs no rows."""

    oldest: int = 1
    also: tuple[int, ...] = ()

    @staticmethod
    def decode(data: bytes) -> Kept:
        found = json.loads(data)
        return Kept(found["oldest"], tuple(found["also"]))

    @property
    def encoded(self) -> str:
        return json.dumps(asdict(self))

    def has(self, version: int) -> bool:
        return version == 0 or version >= self.oldest or version in self.also

    def check(self, version: int) -> None:
        """VersionDropped when its rows are gone."""
        if not self.has(version):
            detail = f"the rows of version {version} were dropped; {self.told}. A tag brings it back"
            raise VersionDropped(f"{detail}: errata tag NAME {version}", version=version, oldest=self.oldest)

    @property
    def told(self) -> str:
        older = "".join(f", {version}" for version in self.also)
        return f"there are 0{older} and all from {self.oldest} on"

    def within(self, other: Kept) -> Kept:
        """What both keep."""
        also = (version for version in {*self.also, *other.also} if self.has(version) and other.has(version))
        return Kept.of(max(self.oldest, other.oldest), also)

    @staticmethod
    def of(oldest: int, also: Iterable[int]) -> Kept:
        return Kept(oldest, tuple(sorted({version for version in also if 0 < version < oldest})))


class Needed:
    """The digests of all rows that something needs. Given the commits one after the other, from the first.

    Those are what every edit contributes, and the rows that a kept version reads.
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._images: dict[str, dict[str, str]] = defaultdict(dict)  # memory -> key -> digest
        self.digests: set[str] = set()

    def add(self, commit: Commit) -> None:
        self.digests.update(edit.material for edit in commit.edits)
        for memory, write in commit.writes.items():
            image = self._images[memory]
            for key in write.removes:
                image.pop(key, None)
            image.update((key, digest) for key, _, digest in write.puts)
        if commit.version == self._kept.oldest or commit.version in self._kept.also:
            for image in self._images.values():
                self.digests.update(image.values())
        if commit.version > self._kept.oldest:
            self.digests.update(_put(commit))


def dropped(commits: Sequence[Commit], kept: Kept) -> set[str]:
    """Digests of the rows that were written once and that nothing needs any more. commits: all of them."""
    needed = Needed(kept)
    for commit in commits:
        needed.add(commit)
    return {digest for commit in commits[: kept.oldest] for digest in _put(commit)} - needed.digests


def _put(commit: Commit) -> Iterator[str]:
    return (entry[2] for write in commit.writes.values() for entry in write.puts)


class Retention:
    """Every call ends within the connection's time limit, or is LedgerUnavailable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands
        self._drop = self._redis.register_script(lua("drop"))

    async def kept(self) -> Kept:
        async with self._connection.bounded("look which versions are kept"):
            found = await self._redis.get(keys.KEPT)
        return Kept() if found is None else Kept.decode(found)

    async def keep(self, kept: Kept) -> None:
        async with self._connection.bounded("note which versions are kept"):
            await self._redis.set(keys.KEPT, kept.encoded)

    async def narrow(self, other: Kept) -> None:
        """To what `other` keeps as well."""
        kept = await self.kept()
        if kept.within(other) != kept:
            await self.keep(kept.within(other))

    async def sizes(self, digests: Iterable[str]) -> Mapping[str, int]:
        """Bytes of those that are there."""
        found: dict[str, int] = {}
        for some in chunks(digests, ROWS_PER_CALL):
            async with self._connection.bounded("measure rows"):
                pipeline = self._redis.pipeline(transaction=False)
                for digest in some:
                    pipeline.strlen(keys.block(digest))
                sizes = await pipeline.execute()
            found.update((digest, size) for digest, size in zip(some, sizes, strict=True) if size)
        return found

    async def drop(self, digests: Iterable[str], head: str) -> bool:
        """False when the newest commit is not `head` any more, which may need some of the rest."""
        for some in chunks(digests, ROWS_PER_CALL):
            async with self._connection.bounded("drop rows"):
                if not await self._drop(keys=[keys.LOG, *map(keys.block, some)], args=[head]):
                    return False
        return True
