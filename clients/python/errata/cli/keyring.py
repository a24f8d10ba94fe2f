"""Which key the command sends: the one it was given, or the one that a service on this machine left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from errata.address import base_url, is_loopback
from errata.errors import BadAddress

KEY_FILE = Path("var") / "admin.key"


@dataclass(frozen=True)
class Key:
    """source: where it came from, in words, for the message that says it was refused."""

    value: str | None
    source: str


def find_key(given: str | None, url: str, start: Path) -> Key:
    """A key from a file is never sent to another machine: the file belongs to the service beside it."""
    if given:
        return Key(given.strip(), "given by --key or ERRATA_KEY")
    if not is_loopback(base_url(url)):
        return Key(None, f"a key in {KEY_FILE} is only for this machine")
    for folder in (start, *start.parents):
        if (folder / KEY_FILE).is_file():
            return Key(_read(folder / KEY_FILE), f"in {folder / KEY_FILE}")
    return Key(None, f"there is no {KEY_FILE} in {start} or above it")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadAddress(f"the key in {file} cannot be read: {error}") from error
