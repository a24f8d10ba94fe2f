"""The ledger's server: an embedded Valkey, or the Redis that ERRATA_REDIS_URL names. How a launch ends.

Processes that a killed run left behind are ended before the next start. Every process of Ray writes its log into the
session's folder, which only this service uses: a process that has a file in it open for writing is an orphan. (One
that only reads is a person with a pager.) Without /proc, only Ray's own clean-up is left.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from service.errors import ErrataError
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.startup import check_address

CHECK_EVERY_S, MAX_PAUSE_S = 0.1, 1.0

log = logging.getLogger(__name__)


@contextmanager
def ledger(folder: Path, url: str | None, repair_log: bool = False) -> Iterator[str]:
    """Yield the address of a server that can hold the ledger; raise CannotStart if there is none."""
    try:
        if url is not None:
            asyncio.run(check_address(url))  # only its errors matter here; the editor logs its warnings
            yield url
            return
        with EmbeddedValkey(folder, repair_log) as valkey, keep_alive(valkey):
            asyncio.run(check_address(valkey.url))
            yield valkey.url
    except ErrataError as error:
        raise CannotStart(error.detail) from error


@contextmanager
def keep_alive(valkey: EmbeddedValkey) -> Iterator[None]:
    """Restart the server whenever it dies; replicas and the editor reconnect by themselves."""
    stop = threading.Event()

    def watch() -> None:
        pause_s, last_trouble = CHECK_EVERY_S, ""
        while not stop.wait(pause_s):
            try:
                if valkey.revive():
                    log.warning("the embedded Valkey had died and was started again")
                pause_s, last_trouble = CHECK_EVERY_S, ""
            except Exception as error:  # an error such as a full disk, which this thread has to survive
                reason = f"the embedded Valkey cannot run: {error!r}"
                trouble = error.detail if isinstance(error, ErrataError) else reason
                # Its log lines have a process id and the time. The same trouble is logged once.
                if re.sub(r"\d+", "", trouble) != re.sub(r"\d+", "", last_trouble):
                    log.error("%s", trouble)
                pause_s, last_trouble = min(2 * pause_s, MAX_PAUSE_S), trouble

    watcher = threading.Thread(target=watch, name="valkey", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


GRACE_S = 3.0
POLL_S = 0.05


def stop_orphans(folder: Path) -> None:
    """End every other process that writes in `folder`, by SIGTERM, then by SIGKILL. Workers end with their raylet."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_S
        for pid in _list_writers(folder):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        while _list_writers(folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _list_writers(folder: Path) -> list[int]:
    pids = [int(entry.name) for entry in _list_entries(Path("/proc")) if entry.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and any(_iterate_writes(pid, f"{folder}/"))]


def _iterate_writes(pid: int, prefix: str) -> Iterator[bool]:
    """Yield for each open file of a process below `prefix` whether it is open for writing."""
    for handle in _list_entries(Path(f"/proc/{pid}/fd")):
        with suppress(OSError):  # the file may be closed meanwhile
            if os.readlink(handle).startswith(prefix):
                lines = Path(f"/proc/{pid}/fdinfo/{handle.name}").read_text().splitlines()
                flags = int(dict(line.split(":", 1) for line in lines)["flags"], 8)
                yield flags & os.O_ACCMODE != os.O_RDONLY


def _list_entries(folder: Path) -> list[Path]:
    """List a folder; for a process that has ended, a zombie, or another user's process the list is empty."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CannotStart(Exception):
    """The service cannot start. The text, which is printed, names the mistake and the remedy; the exit status is 1."""


class StopRequested(Exception):
    """A signal has asked the service to stop."""


def is_stop_requested() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def catch_signals() -> None:
    """Install the handlers. Ray replaces them, so this is called again once Ray runs."""
    for number in STOP_SIGNALS:
        signal.signal(number, request_stop)


def request_stop(number: int = 0, frame: FrameType | None = None) -> NoReturn:
    """Stop the service; this is also the signals' handler."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StopRequested
