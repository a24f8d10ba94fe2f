"""A Ray cluster of our own, on this machine alone: no dashboard, no port open to others, nothing shared.

Ray is configured by the environment of the process that starts it, and its workers inherit that, so this file
sets it before Ray is imported for the first time.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from service import logs, tracing
from service.config import Settings
from service.launch import signals
from service.launch.orphans import stop_orphans
from service.launch.places import Places, free_port
from service.launch.trouble import CannotStart

STOP_LIMIT_S = 10.0
ATTEMPTS = 4  # of half a minute each
LATE = ("timed out during startup", "Failed to start GCS", "Timed out waiting for file")  # on a busy machine
AHEAD = ("torch", "service.http.application")  # seconds of what `service.app` imports, and nothing of Ray
REPLICA_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",  # a thread that waits for its team leaves the core to others: service/README.md
    "TOKENIZERS_PARALLELISM": "false",
}
OBJECTS_BYTES = 100_000_000  # questions and answers are small; Ray's own choice is a third of the memory

EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*: (.+)$", re.MULTILINE)  # the unindented lines of a traceback

TURN = threading.Lock()  # Ray ends a process that is still busy with it when it is shut down

log = logging.getLogger(__name__)


@contextmanager
def cluster(settings: Settings, places: Places, say: Callable[[str], None]) -> Iterator[None]:
    _tidy(places)
    os.environ.update(_environment(settings, places))
    import ray  # reads the environment when it is imported

    threading.Thread(target=_import_ahead, daemon=True).start()
    try:
        _start(settings, places, say)
        yield
    finally:
        within(STOP_LIMIT_S, ray.shutdown)
        stop_orphans(places.ray)


def _start(settings: Settings, places: Places, say: Callable[[str], None]) -> None:
    """CannotStart where Ray's processes do not find each other in the time that Ray gives them, again and again."""
    for _ in range(ATTEMPTS):
        try:
            return _init(settings, places)
        except SystemExit:  # Ray's own answer to SIGTERM, which it takes over as it starts
            signals.stop()
        except Exception as error:  # Ray's have no names
            if not any(sign in str(error) for sign in LATE):
                raise
            signals.catch()
            log.warning("Ray did not start in time: %s", error)
            say("Ray did not start in time: this machine is busy. Trying again ...")
            stop_orphans(places.ray)
    raise CannotStart(
        f"Ray did not start in time, {ATTEMPTS} times: this machine is too busy. Start it again when it is less so; "
        f"more is in {places.log}"
    )


def _init(settings: Settings, places: Places) -> None:
    import ray

    ray.init(
        address="local",
        namespace="errata",
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECTS_BYTES,
        runtime_env={
            "worker_process_setup_hook": "service.launch.worker.set_up",
            "env_vars": {"PROMETHEUS_MULTIPROC_DIR": str(places.metrics), **_logging(settings, places)},
        },
        _temp_dir=str(places.ray),
    )


def _import_ahead() -> None:
    """While Ray starts. What fails here fails again, and is told, where it is needed."""
    for name in AHEAD:
        with suppress(Exception):
            import_module(name)


def _environment(settings: Settings, places: Places) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": str(settings.threads_per_replica),
        **REPLICA_ENVIRONMENT,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # in spite of its name: every port of Ray on 127.0.0.1 alone
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # not 15: whoever answers is no background job
        "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
        # The ingress listens itself; a request through Ray's proxy takes twice as long.
        "RAY_SERVE_ENABLE_DIRECT_INGRESS": "1",
        "RAY_SERVE_DIRECT_INGRESS_MIN_HTTP_PORT": str(settings.port),
        "RAY_SERVE_DIRECT_INGRESS_MAX_HTTP_PORT": str(settings.port + 1),  # the first that is not used
        "RAY_SERVE_PORT_QUARANTINE_S": "0",  # an ingress that is started again needs this very port
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
        "RAY_SERVE_LOG_TO_STDERR": "0",
        "FORWARDED_ALLOW_IPS": "",  # whose X-Forwarded-For is believed is ours to say; uvicorn believes this machine
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        **(tracing.environment(settings.traces, settings.trace_sample_rate) if settings.traces else {}),
    }


def _logging(settings: Settings, places: Places) -> Mapping[str, str]:
    return logs.environment(settings.log_format, settings.log_level, str(places.log / "errata.log"))


def _tidy(places: Places) -> None:
    """Ray keeps a folder per run for ever; ours keeps the last one, and its logs are found in var/log/ray."""
    for old in places.ray.iterdir():
        old.unlink() if old.is_symlink() or old.is_file() else shutil.rmtree(old, ignore_errors=True)
    link = places.log / "ray"
    link.unlink(missing_ok=True)
    link.symlink_to(places.ray / "session_latest" / "logs")


def deploy(settings: Settings, places: Places) -> None:
    """Returns when every deployment runs. CannotStart with the reason of the one that does not."""
    from ray import serve
    from ray.serve.config import HTTPOptions

    from service.app import build

    logging_config = {
        "logs_dir": str(places.log / "serve"),
        "enable_access_log": False,
        "log_level": "WARNING",
    }
    http = HTTPOptions(  # of Ray's proxy, which nobody is told of, and but for the port of the ingress
        host=settings.host,
        port=free_port(),
        ssl_certfile=settings.tls_cert and str(settings.tls_cert),
        ssl_keyfile=settings.tls_key and str(settings.tls_key),
    )
    serve.start(proxy_location="HeadOnly", http_options=http, logging_config=logging_config)
    try:
        serve.run(build(settings), name="errata", route_prefix="/", logging_config=logging_config)
    except RuntimeError as error:
        raise CannotStart(f"{_reason(str(error))}\nMore is in {places.log}.") from error


def undeploy() -> None:
    """Lets requests in flight end."""
    from ray import serve

    within(STOP_LIMIT_S, serve.shutdown)


def within(limit_s: float, stop: Callable[[], Any]) -> None:
    """Runs it beside, and after what was stopped before, so that whatever hangs in it hangs nobody else.

    What had no turn in time has none later.
    """
    given_up = threading.Event()

    def in_turn() -> None:
        with TURN:
            if not given_up.is_set():
                stop()

    stopping = threading.Thread(target=in_turn, daemon=True)
    stopping.start()
    stopping.join(limit_s)
    if stopping.is_alive():
        given_up.set()
        log.warning("%s took longer than %g s", stop.__name__, limit_s)


def _reason(failed: str) -> str:
    """What the deployment that failed said last: its exception's line, without the name of the class."""
    from ray import serve

    said = [d.message for app in serve.status().applications.values() for d in app.deployments.values()]
    found = [line for message in said for line in EXCEPTION.findall(message)]
    return found[-1] if found else failed
