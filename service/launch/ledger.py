"""Where the ledger is: in an embedded Valkey that is ours, or in the Redis that ERRATA_REDIS_URL names."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import ErrataError
from service.launch.trouble import CannotStart
from service.ledger.check import Server
from service.ledger.embedded import EmbeddedValkey
from service.ledger.store import RedisLedger

LOOK_EVERY_S = 0.1

log = logging.getLogger(__name__)


@contextmanager
def ledger(folder: Path, url: str | None) -> Iterator[str]:
    """The address of a server that can hold the ledger. CannotStart says why there is none."""
    try:
        if url is not None:
            _report(asyncio.run(_checked(url)))
            yield url
            return
        with EmbeddedValkey(folder) as valkey, _kept_alive(valkey):
            asyncio.run(_checked(valkey.url))
            yield valkey.url
    except ErrataError as error:
        raise CannotStart(error.detail) from error


async def _checked(url: str) -> Server:
    store = RedisLedger.connect(url)
    try:
        return await store.check()
    finally:
        await store.aclose()


def _report(server: Server) -> None:
    for warning in server.warnings:
        log.warning("%s %s: %s", server.name, server.version, warning)


@contextmanager
def _kept_alive(valkey: EmbeddedValkey) -> Iterator[None]:
    """Starts the server again whenever it dies; replicas and the editor reconnect by themselves."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_EVERY_S):
            try:
                if valkey.revive():
                    log.warning("the embedded Valkey had died and was started again")
            except ErrataError as error:
                log.error("%s", error.detail)

    watcher = threading.Thread(target=watch, name="valkey", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
