"""The edit ledger: append-only, so that every past state can be rebuilt. Redis layout: keys.py."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.exceptions import ResponseError

from models.blocks import Block, Image
from models.versioned_blocks import KnownBlocks
from service.errors import LedgerNotEmpty, NotFound, NotReady, ProposalClosed, StaleVersion
from service.ledger import block_store, keys, manifests
from service.ledger.commit import IMPORT, Commit, Entry, StreamEntry, corrupt, data_replaced, decode_chain
from service.ledger.connection import LIMIT_S, TAIL_BLOCK_S, Connection, load_script
from service.ledger.manifests import Manifest
from service.ledger.startup import Server, check_server

FORGET_REPLICA_AFTER_S = 3600
ROWS_MISSING = 0  # reply of append.lua: a failover lost rows between their storing and the commit
STORE_ATTEMPTS = 5
EXTENSION = b" extension"


class RedisLedger:
    """A ledger in any Redis >= 6.2 or Valkey. One per process and event loop.

    Every call ends within the connection's time limit, or raises LedgerUnavailable; damage raises LedgerCorrupt.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection  # for the rows of the graph too, which are too many for the ledger
        self._redis = connection.commands
        self._known_blocks = KnownBlocks()  # versions share most of their rows
        self._append = self._redis.register_script(load_script("append"))
        self._end = self._redis.register_script(load_script("end"))
        self._heartbeat = self._redis.register_script(load_script("heartbeat"))

    @staticmethod
    def connect(url: str, limit_s: float = LIMIT_S) -> RedisLedger:
        """Return a ledger at a `redis://`, `rediss://` or `unix://` address; the first call connects."""
        return RedisLedger(Connection(url, limit_s))

    async def aclose(self) -> None:
        await self.connection.aclose()

    async def check(self) -> Server:
        return await check_server(self.connection)

    async def head(self) -> int:
        return (await self.end())[0]

    async def end(self) -> tuple[int, str]:
        """Return the newest version and the digest of its commit, which identifies the ledger up to there."""
        version, digest = await self.connection.send("tell its version", self._end(keys=[keys.LOG]))
        return int(version), digest.decode()

    async def append(
        self,
        commit: Commit,
        blocks: Iterable[Block] = (),
        idempotency_key: str | None = None,
        owner: str | None = None,
    ) -> int:
        """Append the commit with all of `blocks`, or change nothing.

        Appending the same commit again is harmless, so a caller that got no reply may call once more.

        Args:
            owner: Whose key it is; None is the author.

        Returns:
            The version of the commit, or, for a known idempotency key, that of the first request.

        Raises:
            StaleVersion: Another writer was faster.
            NotReady: A restore is under way.
            ProposalClosed: The key is that of a proposal that was rejected.
        """
        Commit.decode(commit.encoded, commit.version)  # a commit that cannot be read back must not be written
        blocks = list(blocks)
        for _ in range(STORE_ATTEMPTS):
            await block_store.store(self.connection, blocks)
            version = await self._run_append(commit, blocks, idempotency_key, owner)
            if version != ROWS_MISSING:
                return version
        raise NotReady("rows were lost as often as they were stored: send it again")

    async def begin_restore(self, version: int, newest: int) -> bool:
        """Make `append` refuse every commit before `version` is reached; `put_back` makes them.

        Returns:
            Whether the ledger was empty at the start of the restore, which may continue an earlier one.

        Raises:
            LedgerNotEmpty: The ledger has made its commits itself, so those of a file are not added to them.
        """
        async with self.connection.call("begin a restore"):
            previous = await self._redis.get(keys.RESTORE) or b"0"
            if version > newest > _restore_target(previous):
                raise LedgerNotEmpty(
                    f"the ledger made its version {newest} itself, and commits of a file are not added to it: "
                    "restore into an empty ledger",
                    version=newest,
                )
            is_resumed = _restore_target(previous) > newest and not previous.endswith(EXTENSION)
            is_whole = newest == 0 or is_resumed
            if version <= newest:  # nothing is restored, so commits that follow are the ledger's own
                return is_whole
            await self._redis.set(keys.RESTORE, b"%d%b" % (version, b"" if is_whole else EXTENSION))
        return is_whole

    async def check_restored(self, newest: int) -> None:
        target = await self.connection.send(
            "look whether it is being restored", self._redis.get(keys.RESTORE)
        )
        version = _restore_target(target or b"0")
        if version > newest:
            raise _restoring(newest, version)

    async def put_back(self, commit: Commit) -> None:
        """Append a commit for a restore, which stored its rows before."""
        await self._run_append(commit, by_restore=True)

    async def _run_append(
        self,
        commit: Commit,
        blocks: Sequence[Block] = (),
        idempotency_key: str | None = None,
        owner: str | None = None,
        by_restore: bool = False,
    ) -> int:
        owner = commit.author if owner is None else owner
        name = keys.LOG if idempotency_key is None else keys.idempotency(owner, idempotency_key)
        ttl_s = keys.PROPOSAL_TTL_S if owner == keys.PROPOSALS else keys.IDEMPOTENCY_TTL_S
        script_keys = [keys.LOG, keys.IMPORTS, name, keys.RESTORE]
        script_keys += [keys.block(block.digest) for block in blocks]
        args = [commit.version, commit.previous, commit.digest, commit.encoded]
        args += [0 if idempotency_key is None else ttl_s, "back" if by_restore else ""]
        args += [edit.id for edit in commit.edits if edit.method == IMPORT]
        async with self.connection.call("append a commit"):
            try:
                version = int(await self._append(keys=script_keys, args=args))
            except ResponseError as error:
                reply = str(error)
                if reply.startswith("SWEPT"):
                    raise NotReady(
                        "another editor claimed this import as dead: nothing was imported; send it again"
                    ) from error
                if reply.startswith("CLOSED"):
                    raise _closed() from error
                if reply.startswith("RESTORING"):
                    raise _restoring(commit.version - 1, int(reply.split()[1])) from error
                if reply.startswith("FORKED"):
                    raise data_replaced(commit.version - 1) from error
                raise
        if version < 0:
            raise StaleVersion.at(current=-1 - version, expected=commit.version - 1)
        return version

    async def find_version(self, owner: str, idempotency_key: str) -> int | None:
        version = await self.connection.send(
            "look up an Idempotency-Key", self._redis.get(keys.idempotency(owner, idempotency_key))
        )
        if version == keys.CLOSED:
            raise _closed()
        return None if version is None else int(version)

    async def read(self, after: int, limit: int = 1000, previous: str | None = None) -> list[Commit]:
        """Read versions `after` + 1, `after` + 2, ..., at most `limit`.

        Args:
            after: A version that the caller has; 0 for none.
            previous: Digest of the commit `after` as the caller knows it.

        Raises:
            LedgerCorrupt: The ledger has another commit at `after`, or none.
        """
        if after == 0:
            return decode_chain(await self._range(keys.entry(1), "+", limit), 1, "")
        entries = await self._range(keys.entry(after), "+", limit + 1)
        if (
            not entries
        ):  # the reader is ahead: commits that it read before were lost, and waiting brings none back
            raise corrupt(after, f"it was there before and is gone; the newest is {await self.head()}")
        digest = decode_chain(entries[:1], after, None)[0].digest
        if previous not in (None, digest):
            raise data_replaced(after)
        return decode_chain(entries[1:], after + 1, digest)

    async def _range(self, first: str, last: str, count: int) -> list[StreamEntry]:
        return list(
            await self.connection.send(
                "read commits", self._redis.xrange(keys.LOG, min=first, max=last, count=count)
            )
        )

    async def get(self, version: int) -> Commit:
        entries = await self._range(keys.entry(version), keys.entry(version), 1) if version > 0 else []
        if not entries:
            head = await self.head()
            raise NotFound(f"there is no version {version}: the newest is {head}", version=version, head=head)
        return decode_chain(entries, version, None)[0]

    async def blocks(self, entries: Sequence[Entry]) -> list[Block]:
        return await block_store.load(self.connection, entries, self._known_blocks)

    def remember(self, image: Image) -> None:
        """Take blocks from this image, while it is used, for versions that have the same."""
        self._known_blocks.add(image.versioned_blocks)

    async def put_manifest(self, version: int, images: Mapping[str, Image]) -> None:
        """Store the blocks of every memory at this version, for quick starts."""
        await block_store.store(
            self.connection, (block for image in images.values() for block in image.ordered_blocks)
        )
        async with self.connection.call("keep a manifest"):
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.set(keys.manifest(version), manifests.encode(images))
            pipeline.zadd(keys.MANIFESTS, {str(version): version})
            pipeline.zrange(keys.MANIFESTS, 0, -1)
            *_, versions = await pipeline.execute()
            pipeline = self._redis.pipeline(transaction=True)
            for old in manifests.surplus([int(version) for version in versions]):
                pipeline.zrem(keys.MANIFESTS, str(old))
                pipeline.unlink(keys.manifest(old))
            await pipeline.execute()

    async def nearest_manifest(self, version: int) -> tuple[int, Mapping[str, Manifest]] | None:
        """Return the newest manifest up to `version`: its own version, and its memories by name."""
        async with self.connection.call("look for a manifest"):
            while versions := await self._redis.zrange(
                keys.MANIFESTS, version, 0, desc=True, byscore=True, offset=0, num=1
            ):
                data = await self._redis.get(keys.manifest(int(versions[0])))
                if data is not None or await self._redis.zscore(keys.MANIFESTS, versions[0]) is not None:
                    break  # otherwise it was deleted between two commands
            else:
                return None
        return int(versions[0]), manifests.decode(data, int(versions[0]))

    async def wait(self, after: int, block_s: float) -> bool:
        """Return True as soon as there is a version above `after`, or False after `block_s`, at most 1 s."""
        block_s = min(max(block_s, 0.001), TAIL_BLOCK_S)  # BLOCK 0 would wait for ever
        streams = {keys.LOG: keys.entry(after)}
        return bool(
            await self.connection.send(
                "wait for a commit",
                self.connection.tail.xread(streams, count=1, block=int(block_s * 1000)),
                extra_s=block_s,
            )
        )

    async def heartbeat(self, replica_id: str, payload: Mapping[str, Any]) -> None:
        args = [replica_id, json.dumps(payload), FORGET_REPLICA_AFTER_S]
        await self.connection.send("note a heartbeat", self._heartbeat(keys=[keys.REPLICAS], args=args))

    async def replicas(self) -> dict[str, dict[str, Any]]:
        """Map each replica id to its last payload, with `seen_s_ago` by the server's clock."""
        async with self.connection.call("list the replicas"):
            seconds, micros = await self._redis.time()
            heartbeats = await self._redis.hgetall(keys.REPLICAS)
        now_s = seconds + micros / 1e6
        replicas: dict[str, dict[str, Any]] = {}
        for name, heartbeat in heartbeats.items():
            time_s, _, payload = heartbeat.partition(b" ")
            # The absolute value is taken: a time ahead of now is from before the server's clock was set back.
            age_s = abs(now_s - float(time_s))
            if age_s < FORGET_REPLICA_AFTER_S:
                replicas[name.decode()] = {**json.loads(payload), "seen_s_ago": age_s}
        return replicas

    async def forget(self, replica_id: str) -> None:
        await self.connection.send("forget a replica", self._redis.hdel(keys.REPLICAS, replica_id))


def _closed() -> ProposalClosed:
    return ProposalClosed("the proposal is rejected: nothing was changed", state="rejected")


def _restore_target(value: bytes) -> int:
    return int(value.removesuffix(EXTENSION))


def _restoring(newest: int, version: int) -> NotReady:
    return NotReady(
        f"a restore has made {newest} of {version} versions: wait for it; if it was cut off, give it the same backup "
        "again, or restore another into an empty ledger"
    )
