"""What a newcomer reads when the service is ready: where it is, which key opens it, and four commands to try."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from service.config import Settings, given_key
from service.launch.places import Places

READY = """
Errata is ready after {took_s:.0f} s.

  address    {url}    ({url}/docs describes it)
  admin key  {key}
  logs       {logs}

Try in another terminal:
{access}
  {errata} ask "What is the capital of Peru?"
  {errata} edit "What is the capital of Peru?" "Cusco" -m "try"
  {errata} ask "Peru's capital city?"
  {errata} revert 1

Ctrl-C stops everything; every edit stays.
"""


def ready(settings: Settings, places: Places, took_s: float) -> str:
    url = f"http://{settings.host}:{settings.port}"
    key = "the one in ERRATA_KEY" if given_key() else str(places.var / "admin.key")
    return READY.format(
        took_s=took_s, url=url, key=key, logs=places.log, errata=_command(), access=_access(url, places)
    )


def _command() -> str:
    """The `errata` beside this Python, as one would type it here."""
    path = Path(sys.executable).with_name("errata")
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _access(url: str, places: Places) -> str:
    """What the command does not find by itself: an address or a key file that are not the usual ones."""
    lines = [] if url == "http://127.0.0.1:8000" else [f"  export ERRATA_URL={shlex.quote(url)}"]
    if not given_key() and places.var != Path.cwd() / "var":
        lines.append(f'  export ERRATA_KEY="$(cat {shlex.quote(str(places.var / "admin.key"))})"')
    return "".join(f"\n{line}" for line in lines)
