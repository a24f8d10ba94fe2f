"""Claims the port and the folder of one service before anything is started.

It owns in the var folder `errata.lock` (held while the service lives), `log/` and `metrics/`, and a folder for Ray in
the system's temporary folder, because Ray's sockets need short paths. Only this user may enter them. Ray opens its
folder to all users (mode 777), so it is inside a private one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from service.launch.ledger import CannotStart
from service.launch.orphans import stop_orphans
from service.ledger.embedded.files import create_private_folder, temporary_folder
from service.ledger.embedded.folder_lock import FolderLock

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
