"""Backups."""

from __future__ import annotations

from errata.wire.base import Response, Snapshot
from errata.wire.texts import Version

BACKUP_TYPE = "application/x-tar"
SEAL = "sha256"  # last member of a backup, which names the SHA-256 of every byte before it


class BackupHead(Response):
    """The description of a backup, with its unix time in seconds and the checkpoint of each memory."""

    format: int
    version: Version
    digest: str
    created: float = 0.0
    checkpoints: dict[str, str]


class RestoreReceipt(Snapshot):
    """The receipt of a restore, with counts of data that were not there yet."""

    commits: int
    """Number of restored commits."""
    tags: int = 0
    """Number of restored tags."""
    keys: int
    """Number of restored keys."""
    audit: int
    """Number of restored calls of the audit."""
