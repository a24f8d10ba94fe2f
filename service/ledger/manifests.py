"""Manifests: the blocks of every memory at some versions, so that a start need not read ten thousand commits.

A manifest is derived from commits and adds nothing to them. It names blocks by digest and carries the
checksum of the whole, which is checked when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import TypeAdapter

from models.blocks import Image, checksum
from service.errors import LedgerCorrupt
from service.ledger import keys
from service.ledger.commit import Entry, canonical

N_NEWEST = 4


@dataclass(frozen=True)
class Manifest:
    base: str
    checksum: str
    blocks: tuple[Entry, ...]

    @staticmethod
    def of(image: Image) -> Manifest:
        entries = tuple((block.key, block.order, block.digest) for block in image.ordered_blocks)
        return Manifest(image.base, image.checksum, entries)

    @property
    def is_intact(self) -> bool:
        return self.checksum == checksum(self.base, (digest for _, _, digest in self.blocks))


_FILE = TypeAdapter(dict[str, dict[str, Manifest]])


def encode(images: Mapping[str, Image]) -> bytes:
    return canonical(
        _FILE.dump_python(
            {"memory": {memory: Manifest.of(image) for memory, image in images.items()}}, mode="json"
        )
    )


def decode(data: bytes | None, version: int) -> dict[str, Manifest]:
    try:
        manifests = _FILE.validate_json(data or b"")["memory"]
        intact = all(manifest.is_intact for manifest in manifests.values())
    except (ValueError, KeyError, TypeError) as error:
        raise damage(version) from error
    if not intact:
        raise damage(version)
    return manifests


def surplus(versions: Sequence[int]) -> list[int]:
    """Return the manifests to delete, so that the rest bound both the time of a start and their own size.

    The newest few stay. An older one stays if the gap would otherwise more than double its distance from the newest.
    Each lists every row of its version, so all together would grow with the square of the commits.
    """
    newest_first = sorted(versions, reverse=True)
    newest, stays = newest_first[0], newest_first[N_NEWEST - 1 : N_NEWEST]
    deletes = []
    for version, older in pairwise(newest_first[N_NEWEST:]):
        if newest - older <= 2 * (newest - stays[-1]):
            deletes.append(version)
        else:
            stays.append(version)
    return deletes


def damage(version: int) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the manifest of version {version} cannot be used; it is derived from the commits: "
        f"drop it with `ZREM {keys.MANIFESTS} {version}` and start again",
        version=version,
    )
