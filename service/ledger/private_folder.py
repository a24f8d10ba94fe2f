"""A folder under a name that others can foresee, as every name in the system's temporary folder is."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Ours, readable by nobody else, and no link. OSError says which of these cannot be."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is needed for a folder of this user's own and is something else")
    folder.chmod(0o700)
