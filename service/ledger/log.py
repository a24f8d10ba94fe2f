"""Commits out of the stream, trusted only after their bytes, their places and their chain were checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from service.errors import LedgerCorrupt
from service.ledger.commit import Commit, corrupt, sha256

Raw: TypeAlias = tuple[bytes, Mapping[bytes, bytes]]


def version_of(entry: Raw) -> int:
    return int(entry[0].partition(b"-")[0])


def chained(entries: Sequence[Raw], first: int, previous: str | None) -> list[Commit]:
    """The commits of `entries`, which must be versions first, first + 1, ... in this order.

    previous: digest of the commit before `first`; None when it is not known, so not checked.
    """
    commits = []
    for version, entry in enumerate(entries, first):
        if version_of(entry) != version:
            raise corrupt(version, f"it is missing; the next one there is {version_of(entry)}")
        commit = read(entry)
        if previous is not None and commit.previous != previous:
            raise corrupt(version, "it does not follow the commit that is stored before it")
        commits.append(commit)
        previous = commit.digest
    return commits


def read(entry: Raw) -> Commit:
    version, fields = version_of(entry), entry[1]
    if b"commit" not in fields:
        raise corrupt(version, "it holds no commit")
    if sha256(fields[b"commit"]).encode() != fields.get(b"digest"):
        raise corrupt(version, "its bytes are not the ones that were written")
    return Commit.decode(fields[b"commit"], version)


def replaced(version: int) -> LedgerCorrupt:
    """`version` is there, and is not the commit that this process knows by that number."""
    detail = f"version {version} of the ledger is not the one this process knows: its data was replaced"
    return LedgerCorrupt(f"{detail}; restore it, or start the service again", version=version)
