"""What a newcomer reads when the service is ready: where it is, which key opens it, and four commands to try."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from service.access.admin_key import FILE
from service.config import Settings
from service.launch.places import Places

READY = """
Errata is ready after {took_s:.0f} s.

  address    {url}    ({url}/docs describes it)
{key}
  logs       {logs}

Try in another terminal:
{access}
  {errata} ask "What is the capital of Peru?"
  {errata} edit "What is the capital of Peru?" "Cusco" -m "try"
  {errata} ask "Peru's capital city?"
  {errata} revert 1

Ctrl-C stops everything; every edit stays.
"""


def ready(settings: Settings, places: Places, took_s: float, key: str | None, shows_key: bool = True) -> str:
    """key: the one in the file; None when the operator has given one. shows_key: to a person, and into no log."""
    file = None if key is None else places.var / FILE
    return READY.format(
        took_s=took_s,
        url=settings.url,
        key=_key(key if shows_key else None, file),
        logs=places.log,
        errata=_command(),
        access=_access(settings.url, file),
    )


def _key(key: str | None, file: Path | None) -> str:
    if file is None:
        return "  admin key  the one in ERRATA_KEY"
    return f"  key file   {file}" if key is None else f"  admin key  {key}\n  key file   {file}"


def _command() -> str:
    """The `errata` beside this Python, as one would type it here."""
    path = Path(sys.executable).with_name("errata")
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _access(url: str, file: Path | None) -> str:
    """What the command does not find by itself: an address or a key file that are not the usual ones."""
    lines = [] if url == "http://127.0.0.1:8000" else [f"  export ERRATA_URL={shlex.quote(url)}"]
    if file is not None and file.parent != Path.cwd() / "var":
        lines.append(f'  export ERRATA_KEY="$(cat {shlex.quote(str(file))})"')
    return "".join(f"\n{line}" for line in lines)
