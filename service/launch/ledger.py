"""The ledger's server: an embedded Valkey, or the Redis that ERRATA_REDIS_URL names."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


class CannotStart(Exception):
    """The service cannot start. The text, which is printed, names the mistake and the remedy; the exit status is 1."""
