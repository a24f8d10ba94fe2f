"""Calls about the service itself: its models, memories and replicas, backup and restore."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from errata import wire
from errata.files import Download, Progress, Upload
from errata.request import Call, to_query


class ServiceCalls:
    """The part of `Calls` about processes and stored data."""

    def models(self) -> Call[wire.ModelList]:
        """List the systems that answer."""
        return Call("GET", "/v1/models", wire.ModelList)

    def memory(self) -> Call[wire.MemoryState]:
        """Return the version, the checksum of each memory, and counts of edits."""
        return Call("GET", "/v1/memory", wire.MemoryState)

    def replicas(self) -> Call[wire.ReplicaList]:
        """List the version, checksums and health of each replica."""
        return Call("GET", "/admin/replicas", wire.ReplicaList)

    def backup(
        self, into: str | Path | BinaryIO, *, progress: Progress | None = None
    ) -> Call[wire.BackupHead]:
        """Write everything that cannot be made again into one file, which appears only when it is whole.

        Args:
            into: A path, or a file open for writing bytes.
            progress: Is called with the bytes received.
        """
        return Call("GET", "/admin/export", wire.BackupHead, slow=True, download=Download(into, progress))

    def restore(
        self, backup: str | Path | BinaryIO, *, with_keys: bool = False, progress: Progress | None = None
    ) -> Call[wire.RestoreReceipt]:
        """Restore a backup into an empty ledger, bit for bit. The same backup, given again, goes on where it stopped.

        Args:
            backup: A path, or a file open for reading bytes.
            with_keys: True restores its keys so that they work; otherwise each works only after it is rotated.
            progress: Is called with the bytes sent.
        """
        upload, query = Upload(backup, progress), to_query(with_keys=with_keys or None)
        return Call(
            "POST", "/admin/import", wire.RestoreReceipt, query=query, reads=False, slow=True, upload=upload
        )
