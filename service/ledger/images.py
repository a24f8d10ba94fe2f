"""From the ledger to what a replica reads: the nearest manifest, then the rows of the commits after it.

A replica computes nothing and believes nothing: it loads published rows and checks the checksum of every
memory against the one that the writer recorded. It loads those of the version it is about and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from models.memory import Delta, Image
from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger import manifests
from service.ledger.commit import Commit, Entry, Write
from service.ledger.connection import timed_out
from service.ledger.manifests import Manifest
from service.ledger.store import Ledger

READ_COMMITS = 250  # at a time


async def load(ledger: Ledger, version: int, bases: Mapping[str, Image]) -> dict[str, Image]:
    """What each memory of `bases` holds at `version`. One that the manifest leaves out starts from its base."""
    since, kept = await ledger.nearest_manifest(version) or (0, {})
    first = since if bases.keys() <= kept.keys() else 1  # a manifest is checked against its own commit
    commits = await commits_between(ledger, max(first - 1, 0), version)
    until, later = _split(commits, since)
    images: dict[str, Image] = {}
    for memory, base in bases.items():
        if memory in kept:
            _check_kept(memory, kept[memory], base, since, until)
            images[memory] = await _rebuilt(memory, kept[memory], later, ledger)
        else:
            images[memory] = await _advanced(memory, base, commits, ledger)
    return images


async def newer(ledger: Ledger, after: int, digest: str) -> list[Commit]:
    """All that follow on the commit of this digest, packed. LedgerCorrupt when it is behind, or another one."""
    commits: list[Commit] = []
    while some := await page(ledger, after + len(commits), previous=digest):
        commits += [commit.packed() for commit in some]
        digest = some[-1].digest
    return commits


async def commits_between(ledger: Ledger, after: int, to: int) -> list[Commit]:
    commits: list[Commit] = []
    most = READ_COMMITS
    while len(commits) < to - after:
        asked = min(most, to - after - len(commits))
        some = await page(ledger, after + len(commits), asked)
        if not some:
            break
        commits += some
        most = most if len(some) == asked else len(some)  # what was too long once is not tried again
    return commits


async def page(
    ledger: Ledger, after: int, most: int = READ_COMMITS, previous: str | None = None
) -> list[Commit]:
    """The commits after `after`, as many as the ledger can send within its time limit, and at most `most`."""
    while True:
        try:
            return await ledger.read(after, most, previous)
        except LedgerUnavailable as error:
            if most == 1 or not timed_out(error):
                raise
            most //= 2


async def advance(images: Mapping[str, Image], commits: Sequence[Commit], ledger: Ledger) -> dict[str, Image]:
    """`images` after `commits`, which follow on them. Memories that `images` does not have are left out."""
    return {memory: await _advanced(memory, image, commits, ledger) for memory, image in images.items()}


async def _rebuilt(memory: str, manifest: Manifest, commits: Sequence[Commit], ledger: Ledger) -> Image:
    """Of a manifest and the commits after it."""
    writing = [commit for commit in commits if memory in commit.writes]
    puts, removes = _net(commit.writes[memory] for commit in writing)
    entries = {entry[0]: entry for entry in manifest.blocks if entry[0] not in removes} | puts
    blocks = await ledger.blocks(list(entries.values()))
    result = Image(manifest.base, {block.key: block for block in blocks})
    if writing:
        _check(memory, result, writing[-1])
    return result


async def _advanced(memory: str, image: Image, commits: Sequence[Commit], ledger: Ledger) -> Image:
    writing = [commit for commit in commits if memory in commit.writes]
    if not writing:
        return image
    puts, removes = _net(commit.writes[memory] for commit in writing)
    blocks = await ledger.blocks(list(puts.values()))
    result = image.apply(Delta(tuple(blocks), tuple(key for key in removes if key in image.blocks)))
    _check(memory, result, writing[-1])
    return result


def _net(writes: Iterable[Write]) -> tuple[dict[str, Entry], set[str]]:
    """What is left to do of many: rows that a later one replaces or removes are not even loaded."""
    puts: dict[str, Entry] = {}
    removes: set[str] = set()
    for write in writes:
        for key in write.removes:
            puts.pop(key, None)
            removes.add(key)
        for entry in write.puts:
            puts[entry[0]] = entry
    return puts, removes


def _split(commits: Sequence[Commit], version: int) -> tuple[list[Commit], list[Commit]]:
    """Those up to `version`, and those after it."""
    until = [commit for commit in commits if commit.version <= version]
    return until, list(commits[len(until) :])


def _check_kept(memory: str, kept: Manifest, base: Image, version: int, until: Sequence[Commit]) -> None:
    """until: commits up to the manifest's version; the last of them that wrote the memory recorded its checksum."""
    if kept.base != base.base:
        detail = f"{memory} at version {version} lies on the checkpoint {kept.base}, and this process runs"
        raise LedgerCorrupt(f"{detail} {base.base}: start it with the first, or with an empty ledger")
    recorded = [commit.writes[memory].checksum for commit in until if memory in commit.writes]
    if recorded and kept.checksum != recorded[-1]:
        raise manifests.damaged(version)


def _check(memory: str, image: Image, commit: Commit) -> None:
    expected = commit.writes[memory].checksum
    if image.checksum != expected:
        detail = f"{memory} at version {commit.version} should be {expected} and is {image.checksum}"
        advice = "either this process runs another checkpoint than the writer, or rows were altered"
        raise LedgerCorrupt(f"{detail}: {advice}", version=commit.version, memory=memory)
