"""The key of a run of the command, and where it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from errata.address import base_url, is_loopback

KEY_FILE = Path("var") / "admin.key"


@dataclass(frozen=True)
class Key:
    """A key; `source` names its origin for the message about a refused key."""

    value: str | None
    source: str


def find_key(option: str | None, url: str, start: Path) -> Key:
    """Return the key of the option, or the one that a service on this machine has left in `start` or above it.

    A key from a file is never sent to another machine: the file belongs to the service beside it.
    """
    if option:
        return Key(option.strip(), "given by --key or ERRATA_KEY")
    if not is_loopback(base_url(url)):
        return Key(None, f"a key in {KEY_FILE} is only for this machine")
    for folder in (start, *start.parents):
        try:
            value = (folder / KEY_FILE).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            # The file belongs to another user, and most questions need no key
            return Key(None, f"the one in {folder / KEY_FILE} cannot be read: {error}")
        return Key(value, f"in {folder / KEY_FILE}") if value else Key(None, f"{folder / KEY_FILE} is empty")
    return Key(None, f"there is no {KEY_FILE} in {start} or above it")
