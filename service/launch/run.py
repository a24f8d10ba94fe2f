"""Starts the parts in order, says how to use them, waits for a signal, and stops them in the opposite order."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from service.access.admin_key import BadKey, load_admin_key
from service.access.api_keys import fingerprint
from service.config import Settings
from service.config_problems import explain
from service.config_secrets import SecretMissing, add_upstream_keys, take_admin_key, take_redis_url
from service.launch import signals
from service.launch.greeting import ready
from service.launch.ledger import CannotStart
from service.launch.places import Places, claim
from service.launch.processor import explain_cpu
from service.launch.requirements import check_devices, check_memory, check_systems, check_tls

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
    signals.catch_signals()
    try:
        with claim(arguments["var"], arguments["host"], arguments["port"]) as places:
            # the launcher's log gets all output except that of `say`
            with (places.log / "launcher.log").open("ab") as file:
                os.dup2(file.fileno(), 1)  # Ray writes to both of the process's file descriptors
                os.dup2(file.fileno(), 2)
            log_format = "%(asctime)s %(levelname)s %(name)s: %(message)s"
            logging.basicConfig(format=log_format, level=logging.WARNING, force=True)
            _serve(arguments, places, say, to_terminal)
    except signals.StopRequested:
        say("Stopped.")
    except (ImportError, SystemError):  # an import turns StopRequested into these
        if not signals.is_stop_requested():
            raise
        say("Stopped.")


def _serve(arguments: Mapping[str, Any], places: Places, say: Say, to_terminal: bool) -> None:
    started_s = time.monotonic()
    try:
        operator_key, redis_url = take_admin_key(), take_redis_url()
        key = load_admin_key(places.var, operator_key)
        settings = Settings(**arguments, admin_key_sha256=fingerprint(key), redis_url=redis_url)
        settings = add_upstream_keys(settings)
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
        if reason := explain_cpu(settings):
            say(reason)
        from service.launch import cluster

        with cluster.cluster(settings, places, say):
            signals.catch_signals()
            cluster.deploy(settings, places, say)
            took_s, file_key = time.monotonic() - started_s, None if operator_key else key
            say(ready(settings, places, took_s, file_key, shows_key=to_terminal))
            try:
                signal.pause()
            finally:
                say("Stopping ...")
                cluster.undeploy()
