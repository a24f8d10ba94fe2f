"""The statements of an import about the entities of one bucket, as bytes: small, quick to read, and checked.

A bucket is a BLAKE2b digest of its place and content, then deflated JSON: entity id -> [[relation, object, object id,
act], ...]. Many entities share a key, since a key of Redis takes about a hundred bytes.

Buckets from `Manifest.buckets` on list the same facts by their objects, so that a walk finds the subjects of an
object: object's id -> [[relation, "", subject's id], ...]. An import whose objects are no entities has none of them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from models.graph.statement import Statement
from service.errors import LedgerCorrupt

DIGEST_BYTES = 16  # bytes that suffice to find damage; a writer to Redis can do worse than forge a digest
ZLIB_LEVEL = 1
MAX_STATEMENTS = 512  # statements about one entity in its bucket; the rest lies in further parts

RawStatements: TypeAlias = Sequence[Sequence[str]]


class Bucket(NamedTuple):
    statements: Mapping[str, RawStatements]  # entity id -> the statements about it
    # Entity id -> the number of its first further part, and the count of them
    parts: Mapping[str, tuple[int, int]]


def bucket_of(entity: str, buckets: int) -> int:
    """Return an entity's bucket, the same on every machine. Buckets are ranges of the hash, so their parts nest."""
    return zlib.crc32(entity.encode()) * buckets >> 32


def in_edges_bucket_of(entity: str, buckets: int) -> int:
    """Return the bucket of the facts about an entity; `buckets` is the number of buckets by subject."""
    return buckets + bucket_of(entity, buckets)


def encode(
    key: str, statements: Mapping[str, RawStatements], parts: Mapping[str, tuple[int, int]] | None = None
) -> bytes:
    """Encode a bucket, or one of its further parts, for which `parts` is None."""
    content = {"told": statements} if parts is None else {"told": statements, "more": parts}
    data = zlib.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), ZLIB_LEVEL)
    return _digest(key, data) + data


def decode(key: str, data: bytes | None) -> Bucket:
    """Decode a bucket; raise LedgerCorrupt where it is missing or altered."""
    if data is None or _digest(key, data[DIGEST_BYTES:]) != data[:DIGEST_BYTES]:
        raise damage(key, "is missing" if data is None else "was altered")
    content = json.loads(zlib.decompress(data[DIGEST_BYTES:]))
    return Bucket(content["told"], content.get("more", {}))


def damage(key: str, reason: str) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the graph's row {key} {reason}; restore the data of Redis from a backup, or revert the import",
        row=key,
    )


def to_statements(raw: RawStatements) -> tuple[Statement, ...]:
    return tuple(Statement(*fields) for fields in raw)  # type: ignore[arg-type]  # the act was written by us


def _digest(key: str, data: bytes) -> bytes:
    key_digest = blake2b(key.encode(), digest_size=64).digest()
    return blake2b(data, digest_size=DIGEST_BYTES, key=key_digest).digest()
