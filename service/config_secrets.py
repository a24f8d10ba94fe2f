"""The two settings that do not belong on a command line or in a settings file, and come from the environment.

They are ERRATA_REDIS_URL, the address of the ledger's Redis, and ERRATA_ADMIN_KEY, the admin key; or the files that
..._FILE names. Both are removed from the environment when they are read, because every process that is started later
would inherit them. Only the SHA-256 of the key is kept.
"""

from __future__ import annotations

import os
from pathlib import Path


class SecretMissing(ValueError):
    """The file of a secret cannot be read; the text names it."""


def take_redis_url() -> str | None:
    """Read ERRATA_REDIS_URL and remove it; raise SecretMissing if its file cannot be read."""
    return _take_secret("ERRATA_REDIS_URL")


def take_admin_key() -> str | None:
    """Read ERRATA_ADMIN_KEY and remove it; raise SecretMissing if its file cannot be read."""
    return _take_secret("ERRATA_ADMIN_KEY")


def _take_secret(name: str) -> str | None:
    value, file = os.environ.pop(name, None), os.environ.pop(f"{name}_FILE", None)
    if value or not file:
        return value or None
    try:
        return Path(file).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise SecretMissing(f"{file}, which {name}_FILE names, cannot be read ({error}): check it") from error
