"""Starts the parts in order, says how to use them, waits for a signal, and stops them in the opposite order."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from service.access.api_keys import FILE, BadKey, fingerprint, load_admin_key
from service.config import SecretMissing, Settings, explain, take_admin_key, take_redis_url
from service.launch import ledger as exits
from service.launch.ledger import CannotStart
from service.launch.places import Places, check_devices, check_memory, check_systems, check_tls, claim

Say = Callable[[str], None]


def run(arguments: Mapping[str, Any], say: Say, to_terminal: bool) -> None:
    """Run the service, and return once a signal has stopped all of it.

    Args:
        arguments: Settings by name, not yet checked; `host`, `port` and `var` are among them.
        say: Prints for the person who started this.
        to_terminal: Whether `say` prints to a terminal, which keeps no log.

    Raises:
        CannotStart: The service never ran; the error says why.
    """
    exits.catch_signals()
    try:
        with claim(arguments["var"], arguments["host"], arguments["port"]) as places:
            # the launcher's log gets all output except that of `say`
            with (places.log / "launcher.log").open("ab") as file:
                os.dup2(file.fileno(), 1)  # Ray writes to both of the process's file descriptors
                os.dup2(file.fileno(), 2)
            log_format = "%(asctime)s %(levelname)s %(name)s: %(message)s"
            logging.basicConfig(format=log_format, level=logging.WARNING, force=True)
            _serve(arguments, places, say, to_terminal)
    except exits.StopRequested:
        say("Stopped.")
    except (ImportError, SystemError):  # an import turns StopRequested into these
        if not exits.is_stop_requested():
            raise
        say("Stopped.")


def _serve(arguments: Mapping[str, Any], places: Places, say: Say, to_terminal: bool) -> None:
    started_s = time.monotonic()
    try:
        operator_key, redis_url = take_admin_key(), take_redis_url()
        key = load_admin_key(places.var, operator_key)
        settings = Settings(**arguments, admin_key_sha256=fingerprint(key), redis_url=redis_url)
    except (SecretMissing, BadKey) as error:
        raise CannotStart(str(error)) from error
    except ValidationError as error:
        raise CannotStart(explain(error)) from error
    check_systems(settings)
    check_tls(settings)
    check_devices(settings)
    check_memory(settings)
    from service.launch.ledger import (
        ledger,
    )  # late: torch and Ray take seconds to import, and errors come first

    with ledger(places.valkey, settings.redis_url, settings.repair_log) as redis_url:
        settings = settings.model_copy(update={"redis_url": redis_url})
        say(f"Errata is starting on {settings.url} ...")
        from service.launch import cluster

        with cluster.cluster(settings, places, say):
            exits.catch_signals()
            cluster.deploy(settings, places)
            took_s, file_key = time.monotonic() - started_s, None if operator_key else key
            say(ready(settings, places, took_s, file_key, shows_key=to_terminal))
            try:
                signal.pause()
            finally:
                say("Stopping ...")
                cluster.undeploy()


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
