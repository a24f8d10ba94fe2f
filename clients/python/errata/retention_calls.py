"""What can be asked about which versions stay."""

from __future__ import annotations

from errata import wire
from errata.call import Call
from errata.committing import checked


class RetentionCalls:
    """The part of `Calls` that is about old versions."""

    def retained(self) -> Call[wire.Retained]:
        """Which versions can be asked."""
        return Call("GET", "/admin/compactions", wire.Retained)

    def compact(
        self, *, versions: int | None = None, days: float | None = None, dry_run: bool = False
    ) -> Call[wire.Compaction]:
        """Drop the rows of old versions; needs the scope admin. Commits stay, and a tag brings a version back.

        versions: how many of the newest stay. days: those that were the newest within them stay. Tags stay always.
        """
        asked = checked(wire.CompactionRequest, versions=versions, days=days, dry_run=dry_run)
        return Call("POST", "/admin/compactions", wire.Compaction, asked, reads=dry_run, slow=True)
