"""Where the ledger is: in an embedded Valkey that is ours, or in the Redis that ERRATA_REDIS_URL names."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import ErrataError
from service.launch.trouble import CannotStart
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.startup import check_address

LOOK_EVERY_S, LONGEST_PAUSE_S = 0.1, 5.0

log = logging.getLogger(__name__)


@contextmanager
def ledger(folder: Path, url: str | None) -> Iterator[str]:
    """The address of a server that can hold the ledger. CannotStart says why there is none."""
    try:
        if url is not None:
            asyncio.run(
                check_address(url)
            )  # a refusal is told here; what there is to warn of, the editor says
            yield url
            return
        with EmbeddedValkey(folder) as valkey, _kept_alive(valkey):
            asyncio.run(check_address(valkey.url))
            yield valkey.url
    except ErrataError as error:
        raise CannotStart(error.detail) from error


@contextmanager
def _kept_alive(valkey: EmbeddedValkey) -> Iterator[None]:
    """Starts the server again whenever it dies; replicas and the editor reconnect by themselves."""
    ended = threading.Event()

    def watch() -> None:
        pause_s, trouble = LOOK_EVERY_S, None
        while not ended.wait(pause_s):
            trouble = _revived(valkey, trouble)
            pause_s = LOOK_EVERY_S if trouble is None else min(2 * pause_s, LONGEST_PAUSE_S)

    watcher = threading.Thread(target=watch, name="valkey", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _revived(valkey: EmbeddedValkey, trouble: str | None) -> str | None:
    """Why it cannot be started again, None when it runs. trouble: what was said last; nothing is said twice."""
    try:
        if valkey.revive():
            log.warning("the embedded Valkey had died and was started again")
    except Exception as error:  # a full disk, say, is full for a while; nobody else looks after the server
        why = error.detail if isinstance(error, ErrataError) else f"the embedded Valkey cannot run: {error!r}"
        if trouble is None or _without_numbers(why) != _without_numbers(trouble):
            log.error("%s", why)
        return why
    return None


def _without_numbers(text: str) -> str:
    """The server's last words carry its process id and the time."""
    return re.sub(r"\d+", "", text)
