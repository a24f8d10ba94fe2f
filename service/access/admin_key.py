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


class BadKey(ValueError):
    """A key that must not be used. The text says which, why and what to do."""


def admin_key(var: Path, given: str | None) -> str:
    """The key `given` (from ERRATA_KEY), else the one in the file, which is made when there is none."""
    if given is not None:
        return _checked(given, "ERRATA_KEY")
    path = var / FILE
    try:
        return _made(path)
    except FileExistsError:
        path.chmod(0o600)
        return _checked(path.read_text(encoding="utf-8", errors="replace").strip(), str(path))


def _made(path: Path) -> str:
    """Written beside and linked, so that the file is whole from the moment it is there."""
    key, draft = secrets.token_urlsafe(32), path.with_name(f"{FILE}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(key + "\n")
        os.link(draft, path)
    finally:
        draft.unlink()
    return key


def _checked(key: str, source: str) -> str:
    if not re.fullmatch(rf"[!-~]{{{SHORTEST},}}", key):
        advice = f"use at least {SHORTEST} characters without spaces, or remove it and a key is made"
        raise BadKey(f"the admin key in {source} is empty, too short or not printable: {advice}")
    return key
