"""Starts everything in order, waits until somebody asks for the end, and stops everything in the opposite order."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import ssl
import time
from collections.abc import Callable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from service.access.admin_key import BadKey, admin_key
from service.access.issued import fingerprint
from service.config import SecretMissing, Settings, given_key, given_redis_url
from service.launch import greeting, signals
from service.launch.arguments import Arguments
from service.launch.places import Places, claimed
from service.launch.trouble import CannotStart
from service.ledger.address import FORMS

Say = Callable[[str], None]


def run(arguments: Arguments, say: Say, to_a_person: bool) -> None:
    """Returns when it was asked to stop and everything has. CannotStart says why it never ran.

    to_a_person: whether it is a terminal that shows what is said, and nothing keeps it.
    """
    signals.catch()
    try:
        with claimed(arguments.var, arguments.host, arguments.port) as places:
            _log_to(places)
            _serve(arguments, places, say, to_a_person)
    except signals.Stopped:
        say("Stopped.")
    except (ImportError, SystemError):  # what an import makes of Stopped
        if not signals.asked():
            raise
        say("Stopped.")


def _serve(arguments: Arguments, places: Places, say: Say, to_a_person: bool) -> None:
    begun = time.monotonic()
    given = _from_outside(given_key)
    key = _key(places, given)
    settings = _settings(arguments, places, fingerprint(key))
    _check_systems(settings)
    _check_tls(settings)
    from service.launch.ledger import ledger  # torch and Ray take seconds to import; a refusal should not

    with ledger(places.valkey, settings.redis_url) as redis_url:
        settings = settings.model_copy(update={"redis_url": redis_url})
        say(f"Errata is starting on {settings.url} ...")
        from service.launch import cluster

        with cluster.cluster(settings, places, say):
            signals.catch()
            cluster.deploy(settings, places)
            took_s, ours = time.monotonic() - begun, None if given else key
            say(greeting.ready(settings, places, took_s, ours, shows_key=to_a_person))
            try:
                signal.pause()
            finally:
                say("Stopping ...")
                cluster.undeploy()


def _from_outside(given: Callable[[], str | None]) -> str | None:
    try:
        return given()
    except SecretMissing as error:
        raise CannotStart(str(error)) from error


def _key(places: Places, given: str | None) -> str:
    try:
        return admin_key(places.var, given)
    except BadKey as error:
        raise CannotStart(str(error)) from error


def _settings(arguments: Arguments, places: Places, admin_key_sha256: str) -> Settings:
    try:
        return Settings(
            var=places.var,
            admin_key_sha256=admin_key_sha256,
            redis_url=_from_outside(given_redis_url),
            host=arguments.host,
            port=arguments.port,
            bank_slots=arguments.bank_slots,
            auto_grow_bank=arguments.auto_grow_bank,
            systems=arguments.systems,
            replicas=arguments.replicas,
            max_replicas=arguments.max_replicas,
            **arguments.settings,
        )
    except ValidationError as error:
        raise CannotStart("; ".join(map(_complaint, error.errors()))) from error


def _check_systems(settings: Settings) -> None:
    """Finds a misspelt module at once; what is in it only the replicas load."""
    for name, loader in settings.systems.items():
        module = loader.partition(":")[0]
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        except Exception as error:  # the packages around a module are run to find it
            why = f"{type(error).__name__}: {error}"
            raise CannotStart(
                f"the module {module!r} of the model {name!r} cannot be found ({why})"
            ) from error
        if found is None:
            raise CannotStart(
                f"there is no module {module!r} to load the model {name!r} from: check --system"
            )


def _check_tls(settings: Settings) -> None:
    """The processes that listen would say it to their log alone. A password is given, or it would be asked for."""
    if settings.tls_cert is None or settings.tls_key is None:
        return
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except ssl.SSLError as error:
        files = f"{settings.tls_cert} and {settings.tls_key}"
        raise CannotStart(
            f"{files} are no certificate and its unencrypted key ({error}): check --tls-cert and --tls-key"
        ) from error
    except OSError as error:
        raise CannotStart(
            f"the files of --tls-cert and --tls-key cannot be read: {error.strerror}"
        ) from error


def _complaint(error: ErrorDetails) -> str:
    place, message = error["loc"], error["msg"]
    if place == ("redis_url",):
        return f"ERRATA_REDIS_URL is not the address of a Redis: {FORMS}"
    message = message.removeprefix("Value error, ")
    if not place:
        return message
    if place[0] == "systems" and len(place) > 1:
        return (
            f"the model {place[1]!r} is not given as MODULE:LOADER, e.g. package.module:name: check --system"
        )
    given = f" ({error['input']})" if error["type"].startswith("path_") else ""
    return f"the setting {'.'.join(map(str, place))} cannot be used: {message}{given}"


def _log_to(places: Places) -> None:
    """Everything that is not for the person at the terminal; Ray writes to both of its file descriptors."""
    with (places.log / "launcher.log").open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING, force=True
    )
