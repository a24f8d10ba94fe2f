"""Which versions still have their rows. Commits stay for ever; rows that no kept version reads may be dropped.

What an edit contributes stays too, so every commit can be reverted and every version be returned to, compared or
made again. Only a question that insists on a dropped version cannot be answered.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from service.errors import LedgerCorrupt, NotReady, VersionDropped
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.connection import Connection
from service.ledger.rows import chunks
from service.ledger.script import lua

ROWS_PER_CALL = 1_000
MOST_TOLD = 10
GENERATIONS = 2**53 - 1  # whole numbers that every JSON reader keeps


@dataclass(frozen=True)
class Kept:
    """All versions from `oldest` on, and those of `also`, which are older. The base, version 0, needs no rows.

    until: the version that a restore leads to; before it is reached, nobody else commits, and rows are there that no
    commit names yet.
    generation: another with every change, at random: whoever acts on what it read can see that it still is so, and of
    two who decide the same only one has done it.
    """

    oldest: int = 1
    also: tuple[int, ...] = ()
    until: int = 0
    generation: int = 0

    @staticmethod
    def decode(data: bytes) -> Kept:
        """LedgerCorrupt when it is not what `encoded` wrote."""
        try:
            found = Kept(**json.loads(data))
            return replace(found, also=tuple(map(int, found.also)))
        except (ValueError, TypeError) as error:
            raise LedgerCorrupt(f"{keys.KEPT} is not what was written; restore it from a backup") from error

    @property
    def encoded(self) -> str:
        """Nothing, as long as nothing was changed."""
        return json.dumps(asdict(self)) if self.generation else ""

    def changed(self, oldest: int, also: Iterable[int], until: int | None = None) -> Kept:
        older = tuple(sorted({version for version in also if 0 < version < oldest}))
        return Kept(oldest, older, self.until if until is None else until, 1 + secrets.randbelow(GENERATIONS))

    def has(self, version: int) -> bool:
        return version == 0 or version >= self.oldest or version in self.also

    def check_restored(self, newest: int) -> None:
        """NotReady while a restore is not at its end."""
        if self.until > newest:
            raise unfinished(newest, self.until)

    def check(self, version: int) -> None:
        """VersionDropped when its rows are gone."""
        if not self.has(version):
            detail = f"the rows of version {version} were dropped; {self._told}. A tag brings it back"
            raise VersionDropped(f"{detail}: errata tag NAME {version}", version=version, oldest=self.oldest)

    @property
    def _told(self) -> str:
        shown = [str(version) for version in (0, *self.also)]
        older = ", ".join(shown if len(shown) <= MOST_TOLD else [*shown[:MOST_TOLD], "some more"])
        return f"there are {older} and all from {self.oldest} on"

    def with_restored(self, backup: Kept, common: int, version: int) -> Kept:
        """After a backup of `version` versions was put in, of which `common` were there already, with their rows."""
        had = {one for one in range(1, version + 1) if backup.has(one) or (one <= common and self.has(one))}
        oldest = min(backup.oldest, version + 1)
        while oldest - 1 in had:
            oldest -= 1
        return self.changed(max(1, oldest), had, until=version)


def unfinished(made: int, until: int) -> NotReady:
    detail = f"a restore has made {made} of {until} versions"
    return NotReady(
        f"{detail}: wait for it; if it was cut off, give it the same backup again, "
        "or restore another into an empty ledger"
    )


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
        self._keep = self._redis.register_script(lua("keep"))
        self._drop = self._redis.register_script(lua("drop"))

    async def kept(self) -> Kept:
        async with self._connection.bounded("look which versions are kept"):
            found = await self._redis.get(keys.KEPT)
        return Kept() if found is None else Kept.decode(found)

    async def change(self, before: Kept, after: Kept) -> bool:
        """False, and nothing is changed, when it is not `before` any more."""
        async with self._connection.bounded("note which versions are kept"):
            return bool(await self._keep(keys=[keys.KEPT], args=[before.encoded, after.encoded]))

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

    async def drop(self, digests: Sequence[str], head: str, kept: Kept) -> int:
        """How many, in their order. Fewer than all when the newest commit or what is kept is another by now."""
        done = 0
        for some in chunks(digests, ROWS_PER_CALL):
            names = [keys.LOG, keys.KEPT, *map(keys.block, some)]
            async with self._connection.bounded("drop rows"):
                if not await self._drop(keys=names, args=[head, kept.encoded]):
                    break
            done += len(some)
        return done
