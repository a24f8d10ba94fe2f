"""Loads the memories of a replica from the ledger: the nearest manifest, then the rows of the commits after it.

A replica computes no rows: it loads those of one version and checks the checksum of every memory against the one that
the writer recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from models.blocks import Delta, Image
from models.versioned_blocks import VersionedBlocks
from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger import manifests
from service.ledger.commit import Commit, Entry, Write
from service.ledger.connection import is_timeout
from service.ledger.store import RedisLedger

COMMITS_PER_READ = 250


async def load(ledger: RedisLedger, version: int, bases: Mapping[str, Image]) -> dict[str, Image]:
    """Load each memory of `bases` at `version`. A memory that the manifest leaves out starts from its base."""
    since, manifest = await ledger.nearest_manifest(version) or (0, {})
    first = since if bases.keys() <= manifest.keys() else 1  # a manifest is checked against its own commit
    commits = await read_range(ledger, max(first - 1, 0), version)
    images: dict[str, Image] = {}
    for memory, base in bases.items():
        if memory not in manifest:
            images[memory] = await _advance_memory(memory, base, commits, ledger)
            continue
        start = manifest[memory]
        if start.base != base.base:
            raise LedgerCorrupt(
                f"{memory} at version {since} was written on checkpoint {start.base}, "
                f"and this process has {base.base}: start it with the former, or with an empty ledger"
            )
        writing = [commit for commit in commits if memory in commit.writes]
        until = [commit for commit in writing if commit.version <= since]
        later = writing[len(until) :]
        # The last commit up to the manifest that wrote the memory recorded its checksum.
        if until and start.checksum != until[-1].writes[memory].checksum:
            raise manifests.damage(since)
        puts, removes = _merge_writes(commit.writes[memory] for commit in later)
        entries = {entry[0]: entry for entry in start.blocks if entry[0] not in removes} | puts
        images[memory] = Image(start.base, VersionedBlocks.of(await ledger.blocks(list(entries.values()))))
        ledger.remember(images[memory])
        if later:
            check_image(memory, images[memory], later[-1])
    return images


async def advance(
    images: Mapping[str, Image], commits: Sequence[Commit], ledger: RedisLedger
) -> dict[str, Image]:
    """Return `images` after the `commits` that follow them. Memories that `images` lacks are left out."""
    return {memory: await _advance_memory(memory, image, commits, ledger) for memory, image in images.items()}


async def read_newer(ledger: RedisLedger, after: int, digest: str) -> list[Commit]:
    """Read all commits that follow the one of this digest, packed.

    Raises:
        LedgerCorrupt: The ledger has another commit at `after`.
    """
    commits: list[Commit] = []
    while page := await read_page(ledger, after + len(commits), previous=digest):
        commits += [commit.packed() for commit in page]
        digest = page[-1].digest
    return commits


async def read_range(ledger: RedisLedger, after: int, to: int) -> list[Commit]:
    """Read versions `after` + 1 to `to`, or to the newest."""
    commits: list[Commit] = []
    limit = COMMITS_PER_READ
    while len(commits) < to - after:
        size = min(limit, to - after - len(commits))
        page = await read_page(ledger, after + len(commits), size)
        if not page:
            break
        commits += page
        if len(page) < size:  # a longer page would fail again
            limit = len(page)
    return commits


async def read_page(
    ledger: RedisLedger, after: int, limit: int = COMMITS_PER_READ, previous: str | None = None
) -> list[Commit]:
    """Read commits after `after`: as many as the ledger can send within its time limit, and at most `limit`."""
    while True:
        try:
            return await ledger.read(after, limit, previous)
        except LedgerUnavailable as error:
            if limit == 1 or not is_timeout(error):
                raise
            limit //= 2


async def _advance_memory(memory: str, image: Image, commits: Sequence[Commit], ledger: RedisLedger) -> Image:
    writing = [commit for commit in commits if memory in commit.writes]
    if not writing:
        return image
    puts, removes = _merge_writes(commit.writes[memory] for commit in writing)
    blocks = await ledger.blocks(list(puts.values()))
    result = image.apply(Delta(tuple(blocks), tuple(key for key in removes if key in image.blocks)))
    check_image(memory, result, writing[-1])
    ledger.remember(result)
    return result


def _merge_writes(writes: Iterable[Write]) -> tuple[dict[str, Entry], set[str]]:
    """Merge many writes into one, so that rows that a later write replaces or removes are not loaded."""
    puts: dict[str, Entry] = {}
    removes: set[str] = set()
    for write in writes:
        for key in write.removes:
            puts.pop(key, None)
            removes.add(key)
        for entry in write.puts:
            puts[entry[0]] = entry
    return puts, removes


def check_image(memory: str, image: Image, commit: Commit) -> None:
    """Check a memory against the checksum that `commit`, the last commit that wrote it, recorded."""
    expected = commit.writes[memory].checksum
    if image.checksum != expected:
        raise LedgerCorrupt(
            f"{memory} at version {commit.version} should be {expected} and is {image.checksum}: "
            "either this process runs another checkpoint than the writer, or rows were altered",
            version=commit.version,
            memory=memory,
        )
