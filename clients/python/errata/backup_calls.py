"""The whole ledger as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from errata import wire
from errata.call import Call
from errata.download import Download
from errata.upload import Progress, Upload


class BackupCalls:
    """The part of `Calls` that is about backups; it needs the scope admin."""

    def backup(
        self, into: str | Path | BinaryIO, *, progress: Progress | None = None
    ) -> Call[wire.BackupHead]:
        """Everything that cannot be made again, as one file, which is there when it is whole.

        into: a path, or a file open for writing bytes.
        """
        file = Path(into) if isinstance(into, str | Path) else into
        return Call("GET", "/admin/export", wire.BackupHead, slow=True, download=Download(file, progress))

    def restore(
        self, backup: str | Path | BinaryIO, *, progress: Progress | None = None
    ) -> Call[wire.RestoreReceipt]:
        """Put a backup back into an empty ledger, bit for bit. Giving the same one again goes on where it stopped."""
        file = Path(backup) if isinstance(backup, str | Path) else backup
        return Call(
            "POST",
            "/admin/import",
            wire.RestoreReceipt,
            reads=False,
            slow=True,
            upload=Upload(file, progress),
        )
