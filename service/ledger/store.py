"""The edit ledger: append-only, so that every past state can be rebuilt. Redis layout: keys.py."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

from redis.exceptions import ResponseError

from models.memory import Block, Image
from service.errors import NotFound, NotReady, StaleVersion
from service.ledger import keys, log, manifests, rows
from service.ledger.check import Server, check
from service.ledger.commit import IMPORT, Commit, Entry, corrupt
from service.ledger.connection import TAIL_BLOCK_S, Connection
from service.ledger.manifests import Manifest
from service.ledger.script import lua

FORGET_REPLICA_AFTER_S = 3600
LIMIT_S = 5.0
ROWS_GONE = 0  # append.lua: a failover lost some between storing them and the commit
STORED_AGAIN = 5


class Ledger(Protocol):
    """Every call ends within the store's time limit; LedgerUnavailable then, LedgerCorrupt for damage."""

    async def head(self) -> int:
        """The newest version; 0 when there is no commit."""

    async def end(self) -> tuple[int, str]:
        """The newest version and the digest of its commit, which tells one ledger from another of its length."""

    async def append(
        self, commit: Commit, blocks: Iterable[Block] = (), idempotency_key: str | None = None
    ) -> int:
        """Make the commit, whole or not at all, with all of `blocks`. StaleVersion when another was faster.

        NotReady while a restore is not at its end.

        The version returned is the commit's own, or, for a known idempotency key, that of the first request.
        Appending the same commit again is harmless, so a caller that got no answer may ask once more.
        """

    async def remembered(self, idempotency_key: str) -> int | None:
        """The version that a request with this key made already."""

    async def read(self, after: int, limit: int = 1000, previous: str | None = None) -> list[Commit]:
        """Versions after + 1, after + 2, ... at most `limit` of them.

        previous: digest of the commit `after` as the caller knows it; LedgerCorrupt when another is there now.
        """

    async def get(self, version: int) -> Commit:
        """One commit. NotFound when there is none."""

    async def blocks(self, entries: Sequence[Entry]) -> list[Block]:
        """The rows that (key, order, digest) name, in this order."""

    async def put_image(self, version: int, images: Mapping[str, Image]) -> None:
        """Keep what every memory holds at this version, for quick starts."""

    async def nearest_manifest(self, version: int) -> tuple[int, Mapping[str, Manifest]] | None:
        """The newest that is not newer than `version`, by memory, and the version it is of."""

    async def check_restored(self, newest: int) -> None:
        """NotReady while a restore is under way, of which `newest` versions are there."""

    async def wait(self, after: int, block_s: float) -> bool:
        """True as soon as there is a version above `after`; False after block_s or 1 s, whichever is less."""

    async def heartbeat(self, replica_id: str, payload: Mapping[str, Any]) -> None: ...

    async def replicas(self) -> dict[str, dict[str, Any]]:
        """Replica id -> its last payload, with `seen_s_ago` by the server's clock."""

    async def forget(self, replica_id: str) -> None: ...

    async def check(self) -> Server:
        """Whether this server can hold the ledger, and how well. Once, at the start."""

    async def aclose(self) -> None: ...


class RedisLedger:
    """A ledger in any Redis >= 6.2 or Valkey, or a cluster of them. One per process and event loop."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands
        self._rows: rows.Known = WeakValueDictionary()  # versions share most of their rows
        self._append = self._redis.register_script(lua("append"))
        self._end = self._redis.register_script(lua("end"))
        self._beat = self._redis.register_script(lua("heartbeat"))

    @staticmethod
    def connect(url: str, limit_s: float = LIMIT_S) -> RedisLedger:
        """`redis://`, `rediss://` or `unix://`, or nodes of a cluster. Nothing is sent before the first call."""
        return RedisLedger(Connection(url, limit_s))

    @property
    def connection(self) -> Connection:
        """For the rows of the graph, which are too many for the ledger."""
        return self._connection

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def check(self) -> Server:
        return await check(self._connection)

    async def head(self) -> int:
        return (await self.end())[0]

    async def end(self) -> tuple[int, str]:
        async with self._connection.bounded("tell its version"):
            version, digest = await self._end(keys=[keys.LOG])
        return int(version), digest.decode()

    async def append(
        self, commit: Commit, blocks: Iterable[Block] = (), idempotency_key: str | None = None
    ) -> int:
        Commit.decode(commit.encoded, commit.version)  # what could not be read back must not get in
        blocks = list(blocks)
        for _ in range(STORED_AGAIN):
            await rows.store(self._connection, blocks)
            made = await self._run_append(commit, blocks, idempotency_key)
            if made != ROWS_GONE:
                return made
        raise NotReady("rows were lost as often as they were stored: send it again")

    async def begin_restore(self, version: int) -> None:
        """From now on `append` refuses all before `version` is reached: they are put back."""
        async with self._connection.bounded("begin a restore"):
            await self._redis.set(keys.RESTORE, version)

    async def check_restored(self, newest: int) -> None:
        async with self._connection.bounded("look whether it is being restored"):
            version = int(await self._redis.get(keys.RESTORE) or 0)
        if version > newest:
            raise _restoring(newest, version)

    async def put_back(self, commit: Commit) -> None:
        """As `append`, by a restore, which stored the rows before. Nobody else commits until it is at its end."""
        await self._run_append(commit, back=True)

    async def _run_append(
        self,
        commit: Commit,
        blocks: Sequence[Block] = (),
        idempotency_key: str | None = None,
        back: bool = False,
    ) -> int:
        name = keys.LOG if idempotency_key is None else keys.idempotency(idempotency_key)
        touched = [
            keys.LOG,
            keys.IMPORTS,
            name,
            keys.RESTORE,
            *(keys.block(block.digest) for block in blocks),
        ]
        values = [commit.version, commit.previous, commit.digest, commit.encoded]
        values += [0 if idempotency_key is None else keys.IDEMPOTENCY_TTL_S, "back" if back else ""]
        values += [edit.id for edit in commit.edits if edit.method == IMPORT]
        async with self._connection.bounded("append a commit"):
            try:
                made = int(await self._append(keys=touched, args=values))
            except ResponseError as error:
                raise _refused(commit, error) from error
        if made < 0:
            raise StaleVersion.at(current=-1 - made, expected=commit.version - 1)
        return made

    async def remembered(self, idempotency_key: str) -> int | None:
        async with self._connection.bounded("look up an Idempotency-Key"):
            version = await self._redis.get(keys.idempotency(idempotency_key))
        return None if version is None else int(version)

    async def read(self, after: int, limit: int = 1000, previous: str | None = None) -> list[Commit]:
        if after == 0:
            return log.chained(await self._range(keys.entry(1), "+", limit), 1, "")
        entries = await self._range(keys.entry(after), "+", limit + 1)
        if not entries:  # the reader is ahead: what it read before was lost, and no later read can mend that
            raise corrupt(after, f"it was there before and is gone; the newest is {await self.head()}")
        known = log.chained(entries[:1], after, None)[0].digest
        if previous not in (None, known):
            raise log.replaced(after)
        return log.chained(entries[1:], after + 1, known)

    async def _range(self, first: str, last: str, count: int) -> list[log.Raw]:
        async with self._connection.bounded("read commits"):
            return list(await self._redis.xrange(keys.LOG, min=first, max=last, count=count))

    async def get(self, version: int) -> Commit:
        found = await self._range(keys.entry(version), keys.entry(version), 1) if version > 0 else []
        if not found:
            head = await self.head()
            raise NotFound(f"there is no version {version}: the newest is {head}", version=version, head=head)
        return log.read(found[0])

    async def blocks(self, entries: Sequence[Entry]) -> list[Block]:
        return await rows.load(self._connection, entries, self._rows)

    async def put_image(self, version: int, images: Mapping[str, Image]) -> None:
        await rows.store(self._connection, (block for image in images.values() for block in image.ordered))
        async with self._connection.bounded("keep a manifest"):
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.set(keys.image(version), manifests.encode(images))
            pipeline.zadd(keys.IMAGES, {str(version): version})
            pipeline.zrange(keys.IMAGES, 0, -1)
            *_, kept = await pipeline.execute()
            pipeline = self._redis.pipeline(transaction=True)
            for old in manifests.surplus([int(one) for one in kept]):
                pipeline.zrem(keys.IMAGES, str(old))
                pipeline.unlink(keys.image(old))
            await pipeline.execute()

    async def nearest_manifest(self, version: int) -> tuple[int, Mapping[str, Manifest]] | None:
        async with self._connection.bounded("look for a manifest"):
            found = await self._nearest(version)
        return None if found is None else (found[0], manifests.decode(found[1], found[0]))

    async def _nearest(self, version: int) -> tuple[int, bytes | None] | None:
        """Looks again when it was dropped between two commands."""
        while found := await self._redis.zrange(
            keys.IMAGES, version, 0, desc=True, byscore=True, offset=0, num=1
        ):
            nearest = int(found[0])
            data = await self._redis.get(keys.image(nearest))
            if data is not None or await self._redis.zscore(keys.IMAGES, found[0]) is not None:
                return nearest, data
        return None

    async def wait(self, after: int, block_s: float) -> bool:
        block_s = min(max(block_s, 0.001), TAIL_BLOCK_S)  # BLOCK 0 would wait for ever
        async with self._connection.bounded("wait for a commit", extra_s=block_s):
            streams = {keys.LOG: keys.entry(after)}
            return bool(await self._connection.tail.xread(streams, count=1, block=int(block_s * 1000)))

    async def heartbeat(self, replica_id: str, payload: Mapping[str, Any]) -> None:
        async with self._connection.bounded("note a heartbeat"):
            values = [replica_id, json.dumps(payload), FORGET_REPLICA_AFTER_S]
            await self._beat(keys=[keys.REPLICAS], args=values)

    async def replicas(self) -> dict[str, dict[str, Any]]:
        async with self._connection.bounded("list the replicas"):
            seconds, micros = await self._redis.time()
            found = await self._redis.hgetall(keys.REPLICAS)
        alive = {name.decode(): _heartbeat(value, seconds + micros / 1e6) for name, value in found.items()}
        return {name: beat for name, beat in alive.items() if beat["seen_s_ago"] < FORGET_REPLICA_AFTER_S}

    async def forget(self, replica_id: str) -> None:
        async with self._connection.bounded("forget a replica"):
            await self._redis.hdel(keys.REPLICAS, replica_id)


def _heartbeat(value: bytes, now_s: float) -> dict[str, Any]:
    """One that is dated ahead is from before the server's clock was put back: the next is due within a second."""
    seen, _, payload = value.partition(b" ")
    return {**json.loads(payload), "seen_s_ago": abs(now_s - float(seen))}


def _restoring(newest: int, version: int) -> NotReady:
    return NotReady(
        f"a restore has made {newest} of {version} versions: wait for it; if it was cut off, give it the same backup "
        "again, or restore another into an empty ledger"
    )


def _refused(commit: Commit, error: ResponseError) -> Exception:
    """What the script says, in our words."""
    if str(error).startswith("SWEPT"):
        return NotReady("another editor took this import for dead: nothing was imported; send it again")
    if str(error).startswith("RESTORING"):
        return _restoring(commit.version - 1, int(str(error).split()[1]))
    return log.replaced(commit.version - 1) if str(error).startswith("FORKED") else error
