"""The service itself: its models, memories and replicas, and the whole ledger as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from errata import wire
from errata.files import Download, Progress, Upload
from errata.request import Call, to_query


class ServiceCalls:
    """The part of `Calls` about what runs and what is stored."""

    def models(self) -> Call[wire.ModelList]:
        """The systems that answer."""
        return Call("GET", "/v1/models", wire.ModelList)

    def memory(self) -> Call[wire.MemoryState]:
        """The version, the checksum of each memory, and how many edits are in force."""
        return Call("GET", "/v1/memory", wire.MemoryState)

    def replicas(self) -> Call[wire.ReplicaList]:
        """Version, checksums and health of each replica."""
        return Call("GET", "/admin/replicas", wire.ReplicaList)

    def backup(
        self, into: str | Path | BinaryIO, *, progress: Progress | None = None
    ) -> Call[wire.BackupHead]:
        """Write everything that cannot be made again into one file, which is there only when it is whole.

        Args:
            into: a path, or a file open for writing bytes.
        """
        return Call("GET", "/admin/export", wire.BackupHead, slow=True, download=Download(into, progress))

    def restore(
        self, backup: str | Path | BinaryIO, *, with_keys: bool = False, progress: Progress | None = None
    ) -> Call[wire.RestoreReceipt]:
        """Put a backup back into an empty ledger, bit for bit. Giving the same one again goes on where it stopped.

        Args:
            with_keys: its keys open what they opened when it was made; otherwise nothing until they are rotated.
        """
        upload, query = Upload(backup, progress), to_query(with_keys=with_keys or None)
        return Call(
            "POST", "/admin/import", wire.RestoreReceipt, query=query, reads=False, slow=True, upload=upload
        )
