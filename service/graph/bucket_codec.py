"""What an import says of the entities of one bucket, as bytes: small, quick to read, and checked before it is believed.

A piece is a BLAKE2b digest of its place and content, then deflated JSON: entity id -> [[relation, object, object id,
act], ...]. Many entities share a key, since a key of Redis costs about a hundred bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from models.graph.statement import Statement
from service.errors import LedgerCorrupt

DIGEST = 16  # bytes: damage is found, and who can write to Redis can do worse than forge one
LEVEL = 1
MAX_STATEMENTS = 512  # of one entity in its bucket; the rest lies in further pieces

Raw: TypeAlias = Sequence[Sequence[str]]


def bucket_of(entity: str, buckets: int) -> int:
    """The same in every process and on every machine. Buckets are ranges of the hash, so that parts of it nest."""
    return zlib.crc32(entity.encode()) * buckets >> 32


def encode(key: str, content: Mapping[str, Any]) -> bytes:
    data = zlib.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), LEVEL)
    return _digest(key, data) + data


def decode(key: str, data: bytes | None) -> dict[str, Any]:
    """LedgerCorrupt when it is missing or not what was written."""
    if data is None or _digest(key, data[DIGEST:]) != data[:DIGEST]:
        reason = "is missing" if data is None else "is not what was written"
        advice = "restore the data of Redis from a backup, or revert the import"
        raise LedgerCorrupt(f"the graph's row {key} {reason}; {advice}", row=key)
    content: dict[str, Any] = json.loads(zlib.decompress(data[DIGEST:]))
    return content


def statements(raw: Raw) -> tuple[Statement, ...]:
    return tuple(Statement(*one) for one in raw)  # type: ignore[arg-type]  # the act was written by us


def _digest(key: str, data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST, key=blake2b(key.encode(), digest_size=64).digest()).digest()
