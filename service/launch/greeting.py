"""What the launcher says when the service is ready: its address, its key, and how to ask."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from service.access.admin_key import FILE
from service.config import Settings
from service.launch.places import Places

USUAL_URL = "http://127.0.0.1:8000"
CLIENT_KEY = "ERRATA_KEY"  # variable with the key that the command sends; the service does not read it
READY = """
Errata is ready after {took_s:.0f} s.

  address    {url}    ({url}/docs describes it)
{console}{key}
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
    """Return the text that is printed when the service is ready.

    Args:
        key: The key in the key file; None if the operator has given one.
        shows_key: Whether a person reads this and no log keeps it.
    """
    file = None if key is None else places.var / FILE
    if file is None:
        key_lines = "  admin key  the one in ERRATA_ADMIN_KEY"
    else:
        key_lines = f"  key file   {file}"
        if shows_key:
            key_lines = f"  admin key  {key}\n{key_lines}"
    # Variables that the command needs: for another address, another key file, or a key that the terminal's
    # environment overrides.
    exports = "" if settings.url == USUAL_URL else f"\n  export ERRATA_URL={shlex.quote(settings.url)}"
    cwd = Path.cwd()
    if file is not None and (file.parent != cwd / "var" or CLIENT_KEY in os.environ):
        exports += f'\n  export {CLIENT_KEY}="$(cat {shlex.quote(str(file))})"'
    errata = Path(sys.executable).with_name("errata")
    return READY.format(
        took_s=took_s,
        url=settings.url,
        key=key_lines,
        console=f"  console    {settings.url}/console\n" if settings.console else "",
        logs=places.log,
        errata=shlex.quote(str(errata.relative_to(cwd) if errata.is_relative_to(cwd) else errata)),
        access=exports,
    )
