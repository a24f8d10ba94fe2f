"""The admin's key, which the first start generates, so that no service ever runs with a default key.

Owns the file `admin.key` in the var folder (mode 600), which the `errata` command reads there. The command's own
variable, ERRATA_KEY, is never read here: it may hold another key, of another service.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from service.access.api_keys import parse_name

FILE = "admin.key"
MIN_CHARS = 16
OPEN = 0o077  # mode bits of other users


class BadKey(ValueError):
    """A key that must not be used. The text says which, why and what to do."""


def load_admin_key(var: Path, key: str | None) -> str:
    """Return `key` (from ERRATA_ADMIN_KEY), or else the key in the file, which is generated if there is none."""
    if key is not None:
        return check_key(key, "ERRATA_ADMIN_KEY")
    path = var / FILE
    if not path.exists():
        new_key, draft = secrets.token_urlsafe(32), path.with_name(f"{FILE}.{os.getpid()}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:  # The key is written beside the file and renamed, so that the file is complete from its first moment.
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(new_key + "\n")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return new_key
    if path.stat().st_mode & OPEN:  # some file systems keep every file closed and cannot change that
        try:
            path.chmod(0o600)
        except OSError as error:
            raise BadKey(
                f"others may read {path}, and that cannot be changed ({error.strerror}): "
                "give a key in ERRATA_ADMIN_KEY, or keep --var on another file system"
            ) from error
    return check_key(path.read_text(encoding="utf-8", errors="replace").strip(), str(path))


def check_key(key: str, source: str) -> str:
    if not re.fullmatch(rf"[!-~]{{{MIN_CHARS},}}", key):
        raise BadKey(
            f"the admin key in {source} is empty, too short or not printable: "
            f"use at least {MIN_CHARS} characters without spaces, or remove it and a key is made"
        )
    if name := parse_name(key):
        raise BadKey(
            f"the admin key in {source} looks like the one that was issued to {name!r}: give another, "
            "or remove it and a key is made"
        )
    return key
