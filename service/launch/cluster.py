"""A private Ray cluster on this machine: no dashboard, no port open to others, nothing shared.

Ray is configured by the environment of the process that starts it, and its workers inherit that, so this module sets
it before Ray is imported for the first time.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partialmethod
from importlib import import_module
from typing import Any

from service import logs, tracing
from service.calls.frames import FOLDER_VARIABLE
from service.config import Settings
from service.cores import count_cores
from service.launch import signals
from service.launch.environment import RAY_ENVIRONMENT, REPLICA_ENVIRONMENT
from service.launch.ledger import CannotStart
from service.launch.orphans import stop_orphans
from service.launch.places import Places, free_port, ray_folder

STOP_LIMIT_S = 10.0
ATTEMPTS = 4  # attempts of half a minute each
# parts of Ray's messages on a machine that is too busy
LATE_SIGNS = ("timed out during startup", "Failed to start GCS", "Timed out waiting for file")
CALLS_SUBFOLDER = "c"  # short, as the path of a socket has to be
IMPORTS_AHEAD = ("service.http.app",)  # slow imports of `service.app` that do not import Ray
OBJECT_STORE_BYTES = 100_000_000  # questions and answers are small; Ray's own choice is a third of the memory

EXCEPTION_LINE = re.compile(r"^[A-Za-z_][\w.]*: (.+)$", re.MULTILINE)  # the unindented lines of a traceback

SHUTDOWN_LOCK = threading.Lock()  # Ray's shutdown ends the process while another thread still shuts down

log = logging.getLogger(__name__)


@contextmanager
def cluster(settings: Settings, places: Places, say: Callable[[str], None]) -> Iterator[None]:
    # Ray keeps the folder of every run; here only the last one is kept, with a link to its logs in var/log/ray.
    for path in ray_folder(places.var).iterdir():
        path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path, ignore_errors=True)
    link = places.log / "ray"
    link.unlink(missing_ok=True)
    link.symlink_to(places.ray / "session_latest" / "logs")
    os.environ.update(_environment(settings, places))
    import ray  # reads the environment when it is imported

    def import_ahead() -> None:
        for name in IMPORTS_AHEAD:
            with suppress(Exception):  # a failed import is repeated, and reported, by the code that needs it
                import_module(name)

    threading.Thread(target=import_ahead, daemon=True).start()  # while Ray starts
    try:
        say("Starting Ray ...")
        _start(settings, places, say)
        yield
    finally:
        within(STOP_LIMIT_S, ray.shutdown)
        stop_orphans(places.ray)


def _start(settings: Settings, places: Places, say: Callable[[str], None]) -> None:
    """Start Ray, with further attempts while its processes do not find each other within Ray's time limit."""
    for _ in range(ATTEMPTS):
        try:
            return _init(settings, places)
        except SystemExit:  # raised by Ray's own handler of SIGTERM while it starts
            signals.request_stop()
        except Exception as error:  # Ray's errors have no classes
            if not any(sign in str(error) for sign in LATE_SIGNS):
                raise
            signals.catch_signals()
            log.warning("Ray did not start in time: %s", error)
            say("Ray did not start in time: this machine is busy. Trying again ...")
            stop_orphans(places.ray)
    raise CannotStart(
        f"Ray did not start in time, {ATTEMPTS} times: this machine is too busy. Start Errata again when it is not; "
        f"more is in {places.log}"
    )


def _init(settings: Settings, places: Places) -> None:
    import ray
    from ray._private.parameter import RayParams

    n_gpus = None  # None lets Ray count, without the seconds that torch takes
    if any(settings.device_of(name).startswith("cuda") for name in settings.systems):
        from models.device import count_gpus

        n_gpus = count_gpus()
    # a cluster of one machine has nothing to add, and its logs stay files; `ray.init` has no setting for either
    RayParams.__init__ = partialmethod(RayParams.__init__, no_monitor=True, include_log_monitor=False)
    log_variables = logs.environment(settings.log_format, settings.log_level, str(places.log / "errata.log"))
    ray.init(
        address="local",
        namespace="errata",
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECT_STORE_BYTES,
        num_gpus=n_gpus,
        runtime_env={
            "py_executable": shlex.quote(sys.executable),  # Ray hands it to a shell
            "worker_process_setup_hook": "service.launch.worker.set_up",
            "env_vars": {
                "PROMETHEUS_MULTIPROC_DIR": str(places.metrics),
                **log_variables,
                **_prepare_calls(settings, places),
            },
        },
        _temp_dir=str(places.ray),
    )


def _prepare_calls(settings: Settings, places: Places) -> dict[str, str]:
    """Make the folder of the replicas' sockets; none if Ray has to see the load, by which it scales."""
    if settings.max_replicas is not None:
        return {}
    folder = ray_folder(places.var) / CALLS_SUBFOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return {FOLDER_VARIABLE: str(folder)}


def _environment(settings: Settings, places: Places) -> dict[str, str]:
    return {
        **RAY_ENVIRONMENT,
        **REPLICA_ENVIRONMENT,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # despite its name, it keeps Ray's ports on 127.0.0.1
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_worker_prestart": "0",  # workers ahead of their tasks lack the environment that all parts have
        "RAY_num_workers_soft_limit": "0",  # the worker of a task that is done ends
        "RAY_memory_monitor_refresh_ms": "0",  # it kills replicas where the whole machine, or its group, is 95 % full
        # The ingress listens itself; a request through Ray's proxy takes twice as long.
        "RAY_SERVE_ENABLE_DIRECT_INGRESS": "1",
        "RAY_SERVE_DIRECT_INGRESS_MIN_HTTP_PORT": str(settings.port),
        "RAY_SERVE_DIRECT_INGRESS_MAX_HTTP_PORT": str(settings.port + 1),  # first port that is not used
        "RAY_SERVE_PORT_QUARANTINE_S": "0",  # a restarted ingress needs the same port
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
        "RAY_SERVE_LOG_TO_STDERR": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        **(tracing.environment(settings.traces, settings.trace_sample_rate) if settings.traces else {}),
    }


def deploy(settings: Settings, places: Places, say: Callable[[str], None]) -> None:
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    from service.app import build

    logging_config = {
        "logs_dir": str(places.log / "serve"),
        "enable_access_log": False,
        "log_level": "WARNING",
    }
    http = HTTPOptions(  # options of the ingress; the port is for Ray's proxy, which is not used
        host=settings.host,
        port=free_port(),
        ssl_certfile=settings.tls_cert and str(settings.tls_cert),
        ssl_keyfile=settings.tls_key and str(settings.tls_key),
    )
    n_gpus = int(ray.cluster_resources().get("GPU", 0))
    say("Starting Ray Serve ...")
    serve.start(proxy_location="HeadOnly", http_options=http, logging_config=logging_config)
    n_replicas = settings.share_cores(count_cores()).min_replicas
    say(f"Loading {', '.join(settings.systems)} (replicas of each: {n_replicas}), the editor and HTTP ...")
    try:
        serve.run(build(settings, n_gpus), name="errata", route_prefix="/", logging_config=logging_config)
    except RuntimeError as error:
        statuses = serve.status().applications.values()
        messages = [deployment.message for status in statuses for deployment in status.deployments.values()]
        reasons = [line for message in messages for line in EXCEPTION_LINE.findall(message)]
        reason = reasons[-1] if reasons else error
        raise CannotStart(f"{reason}\nMore is in {places.log}.") from error


def undeploy() -> None:
    from ray import serve

    within(STOP_LIMIT_S, serve.shutdown)


def within(limit_s: float, stop: Callable[[], Any]) -> None:
    """Run `stop` in a thread and wait for at most `limit_s`, so that a hanging `stop` does not block the caller.

    One call runs at a time; a `stop` that could not begin in time never begins.
    """
    too_late = threading.Event()

    def run_alone() -> None:
        with SHUTDOWN_LOCK:
            if not too_late.is_set():
                stop()

    thread = threading.Thread(target=run_alone, daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        too_late.set()
        log.warning("%s took longer than %g s", stop.__name__, limit_s)
