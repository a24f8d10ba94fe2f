"""The admin's key: made at the first start, so that no service ever runs with a key that everybody knows.

Owns the file `admin.key` in the var folder (mode 600), which the `errata` command finds there.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

FILE = "admin.key"
SHORTEST = 16
OPEN = 0o077  # to somebody else


class BadKey(ValueError):
    """A key that must not be used. The text says which, why and what to do."""


def admin_key(var: Path, given: str | None) -> str:
    """The key `given` (from ERRATA_KEY), else the one in the file, which is made when there is none."""
    if given is not None:
        return checked(given, "ERRATA_KEY")
    path = var / FILE
    if not path.exists():
        return _made(path)
    _close(path)
    return checked(path.read_text(encoding="utf-8", errors="replace").strip(), str(path))


def _made(path: Path) -> str:
    """Written beside and renamed, so that the file is whole from the moment it is there. The folder is ours alone."""
    key, draft = secrets.token_urlsafe(32), path.with_name(f"{FILE}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(key + "\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return key


def _close(path: Path) -> None:
    """Only where it is open, for some file systems keep every file closed and cannot change that."""
    if not path.stat().st_mode & OPEN:
        return
    try:
        path.chmod(0o600)
    except OSError as error:
        advice = "give a key in ERRATA_KEY, or keep --var on another file system"
        raise BadKey(
            f"others may read {path}, and that cannot be changed ({error.strerror}): {advice}"
        ) from error


def checked(key: str, source: str) -> str:
    if not re.fullmatch(rf"[!-~]{{{SHORTEST},}}", key):
        advice = f"use at least {SHORTEST} characters without spaces, or remove it and a key is made"
        raise BadKey(f"the admin key in {source} is empty, too short or not printable: {advice}")
    return key
