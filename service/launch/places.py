"""Claims the port and the folder of one service before anything is started, and looks for all that it needs.

It owns in the var folder `errata.lock` (held while the service lives), `log/` and `metrics/`, and a folder for Ray in
the system's temporary folder, because Ray's sockets need short paths. Only this user may enter them. Ray opens its
folder to all users (mode 777), so it is inside a private one.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from models.systems import SYSTEMS
from service.config import Settings
from service.launch.ledger import CannotStart, stop_orphans
from service.ledger.embedded.files import FolderLock, create_private_folder, temporary_folder
from service.machine import count_cores, count_memory

PORTS = 65_536
PORT_WAIT_S = 2.0
POLL_S = 0.1
RAY_SUBFOLDER = "r"  # short, because the paths of Ray's sockets below it may have 107 bytes
RAY_SOCKET = RAY_SUBFOLDER + "/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"


@dataclass(frozen=True)
class Places:
    """The folders of one service, all below `var` except `ray`, which Ray makes below `ray_folder(var)`."""

    var: Path
    log: Path
    metrics: Path
    ray: Path
    valkey: Path


@contextmanager
def claim(var: Path, host: str, port: int) -> Iterator[Places]:
    """Make the folders and hold them until the end; raise CannotStart if the port or the folder is in use."""
    try:
        var.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(var / "errata.lock")
        is_ours = lock.take()
    except OSError as error:
        raise CannotStart(
            f"the folder {var} cannot be used: {error.strerror}; name another with --var"
        ) from error
    if not is_ours:
        advice = "stop it, or name another folder with --var"
        raise CannotStart(f"the folder {var} is in use by another Errata (process {lock.owner}): {advice}")
    try:
        stop_orphans(ray_folder(var))  # an orphan may have the port
        check_port(host, port)
        places = Places(var, var / "log", var / "metrics", ray_folder(var) / RAY_SUBFOLDER, var / "valkey")
        shutil.rmtree(places.metrics, ignore_errors=True)  # counters begin with the processes that count
        for folder in (places.log, places.metrics):
            _close(folder)
        try:
            create_private_folder(ray_folder(var))
        except OSError as error:
            raise CannotStart(f"{error}: remove it, or name another temporary folder in TMPDIR") from error
        yield places
    finally:
        with suppress(OSError):
            ray_folder(var).rmdir()  # fails if Ray left logs in it
        lock.release()


def _close(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise CannotStart(
            f"{folder} cannot be closed to other users: {error.strerror}; name another folder with --var"
        ) from error


def check_port(host: str, port: int) -> None:
    """Check that HTTP will be able to listen.

    Wait a moment: a killed process keeps its port until its last thread ends.
    """
    if not 0 < port < PORTS:
        raise CannotStart(f"{port} is not a port: choose one from 1 to {PORTS - 1} with --port")
    deadline = time.monotonic() + PORT_WAIT_S
    while not _can_listen(host, port, final=time.monotonic() > deadline):
        time.sleep(POLL_S)


def _can_listen(host: str, port: int, final: bool) -> bool:
    try:
        with socket.create_server((host, port), family=_family(host), reuse_port=False):
            return True
    except socket.gaierror as error:
        raise CannotStart(f"{host} is not an address of this machine: choose another with --host") from error
    except PermissionError as error:
        raise CannotStart(
            f"port {port} may not be used by this user: choose one above 1023 with --port"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE and not final:
            return False
        advice = "stop what listens there, or choose another with --port"
        raise CannotStart(f"port {port} of {host} cannot be used ({error.strerror}): {advice}") from error


def _family(host: str) -> socket.AddressFamily:
    """Return the family of the address that HTTP will listen on: IPv4 if the name has addresses of both."""
    families = {family for family, *_ in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    return socket.AF_INET if socket.AF_INET in families else socket.AF_INET6


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def ray_folder(var: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(var.resolve())).hexdigest()[:8]
    name = f"errata-{os.getuid()}-{digest}"
    return temporary_folder(f"{name}/{RAY_SOCKET}") / name


GB = 1e9
# Memory below which the systems of this repository do not run: some 15 % less than they take at a start
OTHERS_GB = 1.1  # Ray's processes, Valkey, the launcher and the ingress
REPLICA_GB = 0.45
EDITOR_GB, EDITOR_SYSTEM_GB = 0.6, 0.2  # the editor, and each system in it


def check_systems(settings: Settings) -> None:
    """Check that the module of each system exists; only the replicas load it."""
    for name, loader in settings.systems.items():
        module = loader.partition(":")[0]
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        except Exception as error:  # finding a module runs its parent packages
            reason = f"{type(error).__name__}: {error}"
            raise CannotStart(
                f"the module {module!r} of the model {name!r} cannot be found ({reason})"
            ) from error
        if spec is None:
            raise CannotStart(
                f"there is no module {module!r} to load the model {name!r} from: check --system"
            )


def check_tls(settings: Settings) -> None:
    if settings.tls_cert is None or settings.tls_key is None:
        return
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # The empty password keeps ssl from asking for one at the terminal.
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


def check_devices(settings: Settings) -> None:
    """Check each device and dtype on this machine. torch, which takes seconds, is imported only if that is needed."""
    choices = {name: (settings.device_of(name), settings.dtype_of(name)) for name in settings.systems}
    if all(device in ("auto", "cpu") and dtype == "float32" for device, dtype in choices.values()):
        return
    from models.device import DeviceUnavailable, resolve_device, resolve_dtype

    for name, (device, dtype) in choices.items():
        try:
            resolve_dtype(dtype, resolve_device(device))
        except DeviceUnavailable as error:
            raise CannotStart(f"the model {name!r} cannot be loaded: {error}") from error


def check_memory(settings: Settings) -> None:
    """Check that there is the memory that the systems of this repository need."""
    names = [
        name for name, loader in settings.systems.items() if loader.partition("?")[0] in SYSTEMS.values()
    ]
    n_replicas = len(names) * settings.share_cores(count_cores()).min_replicas
    needed_gb = OTHERS_GB + REPLICA_GB * n_replicas + EDITOR_GB + EDITOR_SYSTEM_GB * len(names)
    memory = count_memory()
    if names and memory is not None and memory < needed_gb * GB:
        parts = f"{', '.join(names)} in {n_replicas} processes and an editor"
        advice = "name fewer models with --system or fewer replicas with --replicas, or give Errata more"
        raise CannotStart(
            f"there are {memory / GB:.1f} GB of memory, and {parts} need at least {needed_gb:.1f} GB: {advice}"
        )
