"""The settings that do not belong on a command line or in a settings file, and come from the environment.

They are ERRATA_REDIS_URL, the address of the ledger's Redis, ERRATA_ADMIN_KEY, the admin key, and the keys of
upstreams, ERRATA_UPSTREAM_KEY_NAME; or the files that ..._FILE names. All are removed from the environment when they
are read, because every process that is started later would inherit them. Only the SHA-256 of the admin key is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import SecretStr

from service.config import Settings
from service.upstream.setting import name_key_variable


class SecretMissing(ValueError):
    """The file of a secret cannot be read; the text names it."""


def take_redis_url() -> str | None:
    """Read ERRATA_REDIS_URL and remove it; raise SecretMissing if its file cannot be read."""
    return _take_secret("ERRATA_REDIS_URL")


def take_admin_key() -> str | None:
    """Read ERRATA_ADMIN_KEY and remove it; raise SecretMissing if its file cannot be read."""
    return _take_secret("ERRATA_ADMIN_KEY")


def add_upstream_keys(settings: Settings) -> Settings:
    """Return the settings with the keys of their upstreams, and remove these from the environment.

    A key is in ERRATA_UPSTREAM_KEY_NAME, or in the file that the settings name; SecretMissing if that cannot be read.
    """
    keys = {}
    for name in settings.upstreams:
        key, file = _take_secret(name_key_variable(name)), settings.upstream_key_file.get(name)
        if file is not None:
            key = _read_secret(file, "--upstream-key-file")
        if key:
            keys[name] = SecretStr(key)
    return settings.model_copy(update={"upstream_keys": keys})


def _take_secret(name: str) -> str | None:
    value, file = os.environ.pop(name, None), os.environ.pop(f"{name}_FILE", None)
    if value or not file:
        return value or None
    return _read_secret(Path(file), f"{name}_FILE")


def _read_secret(file: Path, source: str) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise SecretMissing(f"{file}, which {source} names, cannot be read ({error}): check it") from error
